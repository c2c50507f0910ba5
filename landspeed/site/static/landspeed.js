'use strict';

/* Changes to asv's pages: names of releases instead of hashes, a legend beside the plot. */
$(document).ready(function() {
    var hash_of = $.asv.get_commit_hash;
    var draw = $.plot;
    /* Minimum distance between two names on the x axis, in pixels */
    var name_width = 42;

    function tag_of(revision) {
        var found = null;
        $.each($.asv.main_json.tags, function(tag, tagged) {
            if (String(tagged) === String(revision)) {
                found = tag;
                return false;
            }
        });
        return found;
    }

    /* Show the name of a release wherever asv shows a hash. */
    $.asv.get_commit_hash = function(revision) {
        return tag_of(revision) || hash_of(revision);
    };

    /* asv sets the title when it has loaded the index. */
    $(document).ajaxSuccess(function(event, request, settings) {
        if (/^index\.json/.test(settings.url)) {
            document.title = 'landspeed: ' + $.asv.main_json.project;
        }
    });

    /* Add the interval to the factor in asv's table of regressions. */
    var step_sizes = {};
    function show_sizes() {
        $.each(step_sizes, function(id, size) {
            var row = document.getElementById(id);
            if (row && row.cells.length > 3) {
                $(row.cells[3]).text(size);
            }
        });
    }
    $(document).ajaxSuccess(function(event, request, settings) {
        if (/^regressions\.json/.test(settings.url)) {
            step_sizes = request.responseJSON.sizes || {};
            show_sizes();
            $('#regressions-body').each(function() {
                new MutationObserver(show_sizes).observe(this, {childList: true});
            });
        }
    });

    function drawn_revisions(series) {
        var seen = {};
        $.each(series, function(i, one) {
            $.each(one.data, function(j, point) {
                seen[point[0]] = true;
            });
        });
        return $.map(Object.keys(seen), Number).sort(function(a, b) { return a - b; });
    }

    function release_ticks(series, width, transform) {
        var revisions = drawn_revisions(series);
        var place = transform || function(value) { return value; };
        return function(axis) {
            var scale = width / ((place(axis.max) - place(axis.min)) || 1);
            var last = -Infinity;
            var ticks = [];
            /* Go from the right, so that the newest release is always named. */
            $.each(revisions.reverse(), function(i, revision) {
                var x = place(revision) * scale;
                var tag = tag_of(revision);
                if (tag && (last === -Infinity || last - x >= name_width)) {
                    ticks.push([revision, tag]);
                    last = x;
                }
            });
            revisions.reverse();
            return ticks;
        };
    }

    function with_landspeed(target, series, options) {
        var legend = $('#legend');
        $('#graph-area').toggleClass('no-legend', !options.legend.show);
        legend.empty();
        options.legend.container = legend;
        if (options.xaxis.axisLabel === 'commits') {
            options.xaxis.axisLabel = 'releases and commits';
            options.xaxis.tickFormatter = null;
            options.xaxis.ticks = release_ticks(series, target.width(), options.xaxis.transform);
        }
        from_zero(series, options);
    }

    /* Start the y axis at zero, as asv does for seconds, unless another scale was chosen. */
    function from_zero(series, options) {
        var scale = $.asv.parse_hash_string(window.location.hash).params['y-axis-scale'];
        if (scale || options.yaxis.transform) {
            return;
        }
        var highest = 0;
        $.each(series, function(i, one) {
            $.each(one.data, function(j, point) {
                highest = Math.max(highest, point[1]);
            });
        });
        options.yaxis.min = 0;
        options.yaxis.max = highest * 1.1 || 1;
    }

    $.plot = function(target, series, options) {
        if ($(target).is('#main-graph')) {
            with_landspeed($(target), series, options);
        }
        return draw(target, series, options);
    };
    $.extend($.plot, draw);
});
