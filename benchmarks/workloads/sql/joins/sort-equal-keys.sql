SELECT equal, few FROM facts ORDER BY equal, few OFFSET 9999;
