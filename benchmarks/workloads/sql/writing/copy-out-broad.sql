COPY broad TO '/dev/null';
