WITH RECURSIVE up AS (
    SELECT id, parent FROM dims WHERE id > 400
    UNION ALL
    SELECT d.id, d.parent FROM up JOIN dims AS d ON d.id = up.parent)
SELECT count(*) FROM up;
