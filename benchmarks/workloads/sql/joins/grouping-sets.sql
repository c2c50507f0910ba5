SELECT dim, few, sum(val) FROM facts GROUP BY GROUPING SETS ((dim), (few), ());
