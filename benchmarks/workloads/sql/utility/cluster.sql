BEGIN;
CLUSTER clustered USING clustered_val;
ROLLBACK;
