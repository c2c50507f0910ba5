SELECT room, range_agg(during), range_agg(days), range_intersect_agg(nums + int4range(lower(nums), 1000)) FROM bookings WHERE NOT isempty(during) GROUP BY room;
WITH rooms AS (SELECT room, range_agg(nums) AS r, range_agg(days) AS d FROM bookings GROUP BY room)
SELECT count(*) FILTER (WHERE a.r && b.r), count(*) FILTER (WHERE a.r @> b.r), count(*) FILTER (WHERE a.r <@ b.r), count(*) FILTER (WHERE a.r @> b.room),
    count(*) FILTER (WHERE a.room <@ b.r), count(*) FILTER (WHERE a.r << b.r), count(*) FILTER (WHERE a.r >> b.r), count(*) FILTER (WHERE a.r &< b.r),
    count(*) FILTER (WHERE a.r &> b.r), count(*) FILTER (WHERE a.r -|- b.r), count(*) FILTER (WHERE a.r < b.r), count(*) FILTER (WHERE a.r = b.r),
    count(*) FILTER (WHERE a.r @> int4range(b.room, b.room + 2)), count(*) FILTER (WHERE a.r && int4range(b.room, b.room + 2)),
    count(*) FILTER (WHERE int4range(a.room, 400) && b.r), count(*) FILTER (WHERE int4range(a.room, 400) @> b.r), count(*) FILTER (WHERE int4range(a.room, 400) << b.r),
    count(*) FILTER (WHERE a.r << int4range(b.room, 400)), count(*) FILTER (WHERE int4range(a.room, 400) &< b.r), count(*) FILTER (WHERE a.r -|- int4range(b.room, 400)),
    count(a.r + b.r), count(a.r - b.r), count(a.r * b.r), count(a.d * b.d)
FROM rooms AS a, rooms AS b;
WITH rooms AS (SELECT room, range_agg(nums) AS r FROM bookings GROUP BY room)
SELECT sum(lower(r)), sum(upper(r)), count(*) FILTER (WHERE isempty(r)), count(*) FILTER (WHERE lower_inc(r)), count(*) FILTER (WHERE upper_inf(r)),
    count(range_merge(r)), count(r::text::int4multirange), count(multirange(int4range(room, 30))), count(DISTINCT r) FROM rooms;
WITH rooms AS (SELECT room, range_agg(nums) AS r FROM bookings GROUP BY room)
SELECT room, piece FROM rooms, unnest(r) AS piece ORDER BY piece LIMIT 20;
WITH rooms AS (SELECT room % 4 AS room, range_agg(nums) AS r FROM bookings GROUP BY room)
SELECT room, range_intersect_agg(r) FROM rooms GROUP BY room ORDER BY 2;
