COPY broad FROM 'broad.csv' CSV;
