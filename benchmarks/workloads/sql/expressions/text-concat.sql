SELECT max(length(t || '-' || t || i)) FROM vals;
