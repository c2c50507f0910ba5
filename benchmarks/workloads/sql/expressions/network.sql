SELECT count(*) FILTER (WHERE a.ip << b.net), count(*) FILTER (WHERE a.ip <<= b.net), count(*) FILTER (WHERE b.net >> a.ip),
    count(*) FILTER (WHERE b.net >>= a.ip), count(*) FILTER (WHERE a.net && b.net), count(*) FILTER (WHERE a.ip < b.ip),
    count(*) FILTER (WHERE a.ip <> b.ip), count(*) FILTER (WHERE inet_same_family(a.ip, b.ip)),
    count(*) FILTER (WHERE a.mac < b.mac), count(*) FILTER (WHERE a.mac >= b.mac), count(*) FILTER (WHERE a.mac8 > b.mac8), count(*) FILTER (WHERE a.mac8 <= b.mac8)
FROM hosts AS a, hosts AS b WHERE a.id <= 10 AND b.id <= 100;
SELECT max(host(ip)), max(abbrev(ip)), max(abbrev(net)), max(broadcast(ip)::text), max(hostmask(ip)::text), max(netmask(ip)::text),
    max(network(ip)::text), sum(masklen(ip)), sum(family(ip)), max(set_masklen(ip, 16)::text), max(set_masklen(net, 20)::text),
    max(text(ip)), max((~ ip)::text), max((ip & netmask(ip))::text), max((ip | hostmask(ip))::text), max((ip + 7)::text),
    max((ip - 3)::text), sum(ip - ip), max(inet_merge(ip, ip + 300)::text), max(ip), min(ip), max(ip::cidr::text)
FROM hosts WHERE id <= 200;
SELECT max(trunc(mac)::text), max((~ mac)::text), max((mac & '0f:0f:0f:0f:0f:0f')::text), max((mac | '0f:0f:0f:0f:0f:0f')::text),
    max(trunc(mac8)::text), max((~ mac8)::text), max((mac8 & mac::macaddr8)::text), max((mac8 | mac::macaddr8)::text),
    max(macaddr8_set7bit(mac8)::text), max(mac::text), max(mac8::text) FROM hosts WHERE id <= 200;
SELECT net, count(*) FROM hosts GROUP BY net ORDER BY net LIMIT 10;
SELECT id FROM hosts ORDER BY ip, mac, mac8 LIMIT 10;
SELECT count(DISTINCT mac), count(DISTINCT mac8), count(DISTINCT ip) FROM hosts;
SELECT sum(a.id) FROM hosts AS a JOIN hosts AS b USING (mac) JOIN hosts AS c ON c.mac8 = a.mac8 WHERE a.ip = c.ip;
