SELECT count(*), sum(a.p <-> b.p), sum(a.p <-> b.s), sum(a.p <-> b.b), sum(a.p <-> b.l), sum(a.s <-> b.s),
    sum(a.b <-> b.b), sum(a.c <-> b.c), sum(a.p <-> b.c), sum(a.p <-> b.poly), sum(a.poly <-> b.poly),
    sum(a.p <-> b.way), sum(a.way <-> b.way), sum(a.s <-> b.l), sum(a.s <-> b.b), sum(a.c <-> b.poly)
FROM shapes AS a JOIN shapes AS b ON b.id = a.id + 1 WHERE a.id <= 100;
SELECT count(*) FILTER (WHERE a.p <@ b.b), count(*) FILTER (WHERE a.p <@ b.c), count(*) FILTER (WHERE a.p <@ b.poly),
    count(*) FILTER (WHERE a.p <@ b.way), count(*) FILTER (WHERE a.p <@ b.l), count(*) FILTER (WHERE a.p <@ b.s),
    count(*) FILTER (WHERE a.s <@ b.b), count(*) FILTER (WHERE a.s <@ b.l), count(*) FILTER (WHERE a.b @> b.b),
    count(*) FILTER (WHERE a.poly @> b.poly), count(*) FILTER (WHERE a.poly @> b.p), count(*) FILTER (WHERE a.c @> b.c),
    count(*) FILTER (WHERE a.c @> b.p), count(*) FILTER (WHERE a.b && b.b), count(*) FILTER (WHERE a.c && b.c),
    count(*) FILTER (WHERE a.poly && b.poly), count(*) FILTER (WHERE a.poly <@ b.poly), count(*) FILTER (WHERE a.c <@ b.c),
    count(*) FILTER (WHERE a.s ?# b.s), count(*) FILTER (WHERE a.s ?# b.b), count(*) FILTER (WHERE a.s ?# b.l),
    count(*) FILTER (WHERE a.l ?# b.l), count(*) FILTER (WHERE a.l ?# b.b), count(*) FILTER (WHERE a.way ?# b.way),
    count(*) FILTER (WHERE a.l ?|| b.l), count(*) FILTER (WHERE a.l ?-| b.l), count(*) FILTER (WHERE a.s ?|| b.s),
    count(*) FILTER (WHERE a.s ?-| b.s), count(*) FILTER (WHERE ?- a.s), count(*) FILTER (WHERE ?| a.l)
FROM shapes AS a JOIN shapes AS b ON b.id % 10 = a.id % 10 WHERE a.id <= 10 AND b.id <= 100;
SELECT count(*) FILTER (WHERE a.p << b.p), count(*) FILTER (WHERE a.p >> b.p), count(*) FILTER (WHERE a.p ~= b.p),
    count(*) FILTER (WHERE a.b << b.b), count(*) FILTER (WHERE a.b >> b.b), count(*) FILTER (WHERE a.b &< b.b),
    count(*) FILTER (WHERE a.b &> b.b), count(*) FILTER (WHERE a.b <<| b.b), count(*) FILTER (WHERE a.b |>> b.b),
    count(*) FILTER (WHERE a.b &<| b.b), count(*) FILTER (WHERE a.b |&> b.b), count(*) FILTER (WHERE a.b ~= b.b),
    count(*) FILTER (WHERE a.poly << b.poly), count(*) FILTER (WHERE a.poly >> b.poly), count(*) FILTER (WHERE a.poly &< b.poly),
    count(*) FILTER (WHERE a.poly &> b.poly), count(*) FILTER (WHERE a.poly <<| b.poly), count(*) FILTER (WHERE a.poly |>> b.poly),
    count(*) FILTER (WHERE a.poly ~= b.poly), count(*) FILTER (WHERE a.c << b.c), count(*) FILTER (WHERE a.c >> b.c),
    count(*) FILTER (WHERE a.c &< b.c), count(*) FILTER (WHERE a.c &> b.c), count(*) FILTER (WHERE a.c <<| b.c),
    count(*) FILTER (WHERE a.c |>> b.c), count(*) FILTER (WHERE a.c ~= b.c), count(*) FILTER (WHERE a.c < b.c),
    count(*) FILTER (WHERE a.c >= b.c), count(*) FILTER (WHERE a.b < b.b), count(*) FILTER (WHERE a.b >= b.b),
    count(*) FILTER (WHERE a.s = b.s), count(*) FILTER (WHERE a.s < b.s), count(*) FILTER (WHERE a.way < b.way), count(*) FILTER (WHERE a.l = b.l)
FROM shapes AS a JOIN shapes AS b ON b.id % 10 = a.id % 10 WHERE a.id <= 10 AND b.id <= 100;
SELECT sum(area(b)), sum(area(c)), sum(area(way)), sum(length(s)), sum(length(way)), sum(height(b)), sum(width(b)),
    sum(diameter(c)), sum(radius(c)), sum(npoints(way)), sum(npoints(poly)), sum(slope(p, point(1, 2))),
    sum((center(b))[0]), sum((center(c))[1]), sum((@@ s)[0]), sum((@@ poly)[0]), count(isopen(way)),
    sum(area(box(c))), sum(area(box(poly))), sum(area(circle(b))), sum(area(circle(poly))),
    sum(npoints(polygon(b))), sum(npoints(polygon(c))), sum(npoints(path(poly))), sum(npoints(pclose(way))),
    sum(length(diagonal(b))), sum(area(bound_box(b, box(p, p + point(1, 1)))))
FROM shapes WHERE id <= 100;
SELECT sum((p + point(1, 2))[0]), sum((p * point(2, 0))[1]), sum((p / point(2, 1))[0]), sum((p - point(1, 2))[1]),
    sum(area(b + point(1, 1))), sum(area(b * point(2, 0))), sum(area(b / point(2, 0))), sum(area(c + point(1, 1))),
    sum(area(c * point(2, 0))), sum(length(way + point(1, 1))), sum(length(way * point(2, 0))), sum(length(way - point(3, 1))),
    sum((p ## s)[0]), sum((p ## b)[0]), sum((p ## l)[0]), sum((s ## b)[0]), sum((s # lseg(point(0, 0), point(200, 200)))[0]),
    sum((l # line(point(0, 0), point(200, 1)))[0]), sum(area(b # box(point(0, 0), point(100, 100)))), sum(length(way + way))
FROM shapes WHERE id <= 100;
SELECT max(p::text), max(l::text), max(s::text), max(b::text), max(way::text), max(poly::text), max(c::text) FROM shapes WHERE id <= 100;
