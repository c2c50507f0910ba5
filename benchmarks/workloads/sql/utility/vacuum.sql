UPDATE dirty SET val = val + 1 WHERE id <= 500;
VACUUM dirty;
