COPY broad TO '/dev/null' CSV;
