SELECT loop_queries(100);
