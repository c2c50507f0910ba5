SELECT count(*) FROM (SELECT dim FROM facts WHERE id <= 2000 UNION SELECT val FROM others WHERE id <= 2000) AS u;
