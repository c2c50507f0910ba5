SELECT sum(i::text::int + f::int + n::int + b::text::bigint % 7) FROM vals;
