-- Each branch on one worker, with its accounts, tellers and history.
SELECT create_distributed_table('pgbench_branches', 'bid');
SELECT create_distributed_table('pgbench_tellers', 'bid', colocate_with => 'pgbench_branches');
SELECT create_distributed_table('pgbench_accounts', 'bid', colocate_with => 'pgbench_branches');
SELECT create_distributed_table('pgbench_history', 'bid', colocate_with => 'pgbench_branches');
-- What they were made of is still on the coordinator, where nobody sees it.
SELECT truncate_local_data_after_distributing_table('pgbench_branches');
SELECT truncate_local_data_after_distributing_table('pgbench_tellers');
SELECT truncate_local_data_after_distributing_table('pgbench_accounts');
SELECT truncate_local_data_after_distributing_table('pgbench_history');
