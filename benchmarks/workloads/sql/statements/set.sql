BEGIN;
SET LOCAL work_mem = '8MB';
SET LOCAL search_path = public, pg_catalog;
SET LOCAL enable_seqscan = off;
COMMIT;
