-- A table whose changes are decoded, and an output plugin: a build has none of PostgreSQL's own.
CREATE TABLE decoded (id int PRIMARY KEY, val int NOT NULL, t text NOT NULL);
-- The plugin writes an empty row for each change and nothing for the rest. It is compiled here, into
-- the directory of the data, without headers of the server: plpgsql lends it its Pg_magic_func(). Of
-- the callbacks it gives the first five, whose order is the same from 10 on but for truncate, which
-- came before commit in 11.
DO $make$
DECLARE
    source text := 'void OutputPluginPrepareWrite(void *, int); void OutputPluginWrite(void *, int);'
        ' static void nothing(void) {}'
        ' static void change(void *c) { OutputPluginPrepareWrite(c, 1); OutputPluginWrite(c, 1); }'
        ' void _PG_init(void) {}'
        ' void _PG_output_plugin_init(void **callbacks)'
        ' { callbacks[2] = change; callbacks[1] = callbacks[3] = callbacks[4] = nothing; }';
    library text := (SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR') || '/plpgsql.so';
    compile text := 'cp ''' || replace(library, '''', '''\''''') || ''' plpgsql.so'
        ' && gcc -O2 -fPIC -shared -o decoding.so -x c - -x none -Wl,--no-as-needed ./plpgsql.so';
BEGIN
    EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', source, compile);
EXCEPTION WHEN OTHERS THEN
    -- the other datasets are loaded; the workload says what is missing
    RAISE WARNING '%', SQLERRM;
END
$make$;
