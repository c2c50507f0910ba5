COPY broad FROM 'broad.copy';
