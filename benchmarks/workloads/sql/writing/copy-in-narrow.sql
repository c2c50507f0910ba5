COPY narrow FROM 'narrow.copy';
