SELECT amount FROM facts ORDER BY amount OFFSET 9999;
