SELECT plpgsql_exceptions(20);
