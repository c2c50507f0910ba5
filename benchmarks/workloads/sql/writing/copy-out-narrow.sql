COPY narrow TO '/dev/null';
