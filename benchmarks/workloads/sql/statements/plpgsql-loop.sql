SELECT loop_sum(1000);
