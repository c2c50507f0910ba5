'use strict';

/* What a dot on the site is: the release or commit named after the #, and how to see its runs. */
$(document).ready(function() {
    function find(index, asked) {
        var found = {tag: null, hash: null, revision: null};
        $.each(index.revision_to_hash, function(revision, hash) {
            if (asked === hash || (asked.length >= 7 && hash.indexOf(asked) === 0)) {
                found.hash = hash;
                found.revision = revision;
            }
        });
        $.each(index.tags, function(tag, revision) {
            if (tag === asked || String(revision) === found.revision) {
                found.tag = tag;
                found.revision = String(revision);
                found.hash = index.revision_to_hash[revision];
            }
        });
        return found.hash ? found : null;
    }

    function points(index, name) {
        var commands = [];
        $.each(index.params.blocksize || ['8'], function(i, blocksize) {
            $.each(index.params.wal_blocksize || ['8'], function(j, wal) {
                $.each(index.params.build || ['default'], function(k, rest) {
                    var variant = 'bs' + blocksize + (String(wal) === '8' ? '' : '-wal' + wal) +
                        (rest === 'default' ? '' : '-' + rest);
                    commands.push('landspeed show ' + name + ':' + variant);
                });
            });
        });
        return commands.join('\n');
    }

    function show(index, asked) {
        var found = find(index, asked);
        if (!found) {
            $('#name').text('Not on this site');
            $('#about').text('No dot of this site is called “' + asked + '”.');
            return;
        }
        var name = found.tag || found.hash.slice(0, 10);
        $('#name').text((found.tag ? 'PostgreSQL ' : 'commit ') + name);
        document.title = 'landspeed: ' + name;
        var date = new Date(index.revision_to_date[found.revision]);
        $('#about').text('of ' + date.toISOString().slice(0, 10));
        if (/^\d+(\.\d+)+$/.test(name)) {
            $('#link').text('Release notes').attr(
                'href', 'https://www.postgresql.org/docs/release/' + name + '/');
        } else if (!found.tag) {
            $('#link').text('The commit at git.postgresql.org').attr(
                'href', 'https://git.postgresql.org/gitweb/?p=postgresql.git;a=commit;h=' +
                found.hash);
        }
        $('#commands').text(points(index, name));
    }

    function load() {
        var asked = decodeURIComponent(window.location.hash.slice(1));
        $.getJSON('index.json').done(function(index) {
            show(index, asked);
        });
    }

    $(window).on('hashchange', load);
    load();
});
