SELECT count(flags & B'1010101010101010'), count(flags | B'0000111100001111'), count(flags # B'1111000011110000'), count(~ flags),
    count(flags << 3), count(flags >> 2), count(bits || flags), sum(length(bits)), sum(octet_length(bits)), sum(position(B'101' IN bits)),
    count(substring(bits FROM 2 FOR 5)), count(substring(bits FROM 3)), count(overlay(flags PLACING B'11' FROM 4)), sum(get_bit(flags, 7)),
    count(set_bit(flags, 5, 1)), sum(flags::int), sum(flags::bit(40)::bigint), count(id::bit(12)), count(id::bigint::bit(50)),
    count(bits::text), count(flags::text::bit(16)), count(*) FILTER (WHERE bits < flags::varbit), count(*) FILTER (WHERE flags > B'01'),
    bit_and(flags), bit_or(flags), bit_and(small), bit_or(id)
FROM kinds WHERE id <= 200;
SELECT count(encode(raw, 'hex')), count(encode(raw, 'base64')), count(encode(raw, 'escape')), count(decode(encode(raw, 'base64'), 'base64')),
    count(decode(encode(raw, 'escape'), 'escape')), sum(length(raw)), sum(get_byte(raw, 3)), sum(get_bit(raw, 9)), count(set_byte(raw, 2, 65)),
    count(set_bit(raw, 8, 1)), count(raw || raw), count(substring(raw FROM 3 FOR 4)), sum(position('\x61'::bytea IN raw)), count(overlay(raw PLACING '\x0102' FROM 2)),
    count(btrim(raw, '\x00ff')), count(md5(raw)), count(sha224(raw)), count(sha256(raw)), count(sha384(raw)), count(sha512(raw)),
    count(*) FILTER (WHERE raw LIKE 'a%'::bytea), count(*) FILTER (WHERE raw < '\x80'), count(*) FILTER (WHERE raw >= '\x40'),
    count(raw::text::bytea), string_agg(raw, '\x00')
FROM kinds WHERE id <= 200;
SELECT flags, count(*) FROM kinds GROUP BY flags ORDER BY flags LIMIT 10;
SELECT id FROM kinds ORDER BY bits, raw LIMIT 10;
