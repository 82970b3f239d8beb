//! What a run's charts show, as ECharts' options. The script in the page knows the functions that are named "@...".
//!
//! Latencies are drawn as logarithms of microseconds: bands between percentiles are stacked differences of them, which a
//! logarithmic axis could not stack.

mod system;

pub use system::{machine, recovery};

use serde_json::{Value, json};

pub use super::page::Chart;
use mote_measure::RunOutcome;
use mote_measure::buckets::Buckets;
use mote_measure::outcome::SeriesPoint;

/// More points than this are merged: a picture has no more columns, and a page of a two-hour run stays small.
const POINTS_MAX: usize = 240;
const HEAT_COLUMNS_MAX: usize = 90;
/// Rows of the heat map and classes of the distribution, in one factor of ten.
const CLASSES_PER_DECADE: f64 = 8.0;

/// Something that happened during a run, to be marked in its charts.
#[derive(Clone)]
pub struct Mark {
    pub second: f64,
    pub what: String,
}

impl Mark {
    /// What happened during the run, besides its work.
    pub fn all_of(outcome: &RunOutcome) -> Vec<Mark> {
        let events = outcome.events.iter();
        events
            .map(|event| Mark {
                second: event.second,
                what: event.what.to_string(),
            })
            .collect()
    }
}

/// Logarithm of a latency in microseconds, at least 1.
fn log_us(ns: u64) -> f64 {
    round((ns as f64 / 1e3).max(1.0).log10())
}

fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn merged<T>(points: &[T], most: usize) -> impl Iterator<Item = &[T]> {
    points.chunks(points.len().div_ceil(most).max(1))
}

/// The common frame: a tool-tip for all series at a time, a legend that scrolls on phones.
fn frame(y_name: &str, series: Vec<Value>) -> Value {
    json!({
        "grid": {"left": 8, "right": 16, "top": 54, "bottom": 8, "containLabel": true},
        "legend": {"type": "scroll", "top": 0, "left": 0},
        "tooltip": {"trigger": "axis", "valueFormatter": "@number", "confine": true},
        "xAxis": {"type": "value", "min": "dataMin", "max": "dataMax", "axisLabel": {"hideOverlap": true},
                  "splitLine": {"show": false}},
        "yAxis": {"type": "value", "name": y_name, "nameTextStyle": {"align": "left"},
                  "axisLabel": {"formatter": "@number"}},
        "series": series,
    })
}

/// A frame over the ends of stretches of seconds. They are categories: of two numbers ECharts would stack the first.
fn over_time(y_name: &str, seconds: &[f64], series: Vec<Value>) -> Value {
    let mut option = frame(y_name, series);
    let whole = seconds.windows(2).all(|pair| pair[1] - pair[0] > 0.95);
    let names = seconds.iter().map(|second| match whole {
        true => format!("{} s", second.round() + 0.0),
        // Adding zero makes of a rounded -0 the 0 that a reader expects.
        false => format!("{:.1} s", (second * 10.0).round() / 10.0 + 0.0),
    });
    option["xAxis"] = json!({"type": "category", "boundaryGap": false, "data": names.collect::<Vec<_>>(),
        "axisLabel": {"hideOverlap": true}});
    option
}

/// Shades the warm-up and marks events, in the first series of a chart over seconds.
fn mark(option: &mut Value, seconds: &[f64], marks: &[Mark]) {
    let Some(series) = option["series"].get_mut(0) else {
        return;
    };
    let place = |second: f64| seconds.partition_point(|end| *end < second);
    if seconds.first().is_some_and(|first| *first < 0.0) {
        series["markArea"] = json!({"silent": true, "itemStyle": {"color": "rgba(128,128,128,0.14)"},
            "label": {"color": "#8a929a", "position": "insideTop"},
            "data": [[{"name": "warm-up", "xAxis": 0}, {"xAxis": place(0.0)}]]});
    }
    if !marks.is_empty() {
        let lines = marks
            .iter()
            .map(|mark| json!({"xAxis": place(mark.second), "name": mark.what}));
        series["markLine"] = json!({"symbol": "none", "label": {"formatter": "{b}", "position": "insideEndTop",
                "color": "inherit", "textBorderWidth": 0},
            "lineStyle": {"type": "dashed"}, "data": lines.collect::<Vec<_>>()});
    }
}

fn line(name: &str, data: Vec<Value>) -> Value {
    json!({"name": name, "type": "line", "showSymbol": data.len() < 3, "data": data, "lineStyle": {"width": 1.6}})
}

/// A run's seconds with the names of its types.
pub struct Series<'a> {
    pub kinds: &'a [&'a str],
    pub points: &'a [SeriesPoint],
    /// Types to leave out of pictures: queueing a delivery takes no time.
    pub hidden: Option<usize>,
    pub marks: &'a [Mark],
}

impl Series<'_> {
    fn shown(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.kinds.iter().copied().enumerate();
        all.filter(|(index, _)| Some(*index) != self.hidden)
    }

    /// Ends of the stretches that pictures show.
    fn seconds(&self) -> Vec<f64> {
        merged(self.points, POINTS_MAX)
            .map(|points| points[points.len() - 1].second)
            .collect()
    }

    fn buckets<'p>(points: &'p [SeriesPoint], kind: usize) -> Buckets {
        Buckets::merge(
            points
                .iter()
                .map(|point: &'p SeriesPoint| &point.kinds[kind].latency),
        )
    }

    /// Transactions a minute by type, stacked.
    pub fn throughput(&self) -> Chart {
        let series = self.shown().map(|(kind, name)| {
            let data = merged(self.points, POINTS_MAX).map(|points| {
                let count: u64 = points.iter().map(|point| point.kinds[kind].count).sum();
                let seconds: f64 = points.iter().map(|point| point.seconds).sum();
                json!(round(count as f64 * 60.0 / seconds.max(1e-9)))
            });
            let mut series = line(name, data.collect());
            series["stack"] = json!("all");
            series["areaStyle"] = json!({"opacity": 0.5});
            series
        });
        let mut option = over_time("per minute", &self.seconds(), series.collect());
        mark(&mut option, &self.seconds(), self.marks);
        Chart {
            title: "Throughput by type".into(),
            note: String::new(),
            option,
        }
    }

    /// Bands between percentiles of the first type.
    pub fn bands(&self) -> Chart {
        const LEVELS: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];
        let stretches: Vec<Buckets> = merged(self.points, POINTS_MAX)
            .map(|points| Series::buckets(points, 0))
            .collect();
        let series = LEVELS.iter().enumerate().map(|(index, (name, share))| {
            let data = stretches.iter().map(|buckets| {
                if buckets.is_empty() {
                    return json!("-"); // ECharts' word for a gap
                }
                let below = if index == 0 {
                    0.0
                } else {
                    log_us(buckets.quantile(LEVELS[index - 1].1))
                };
                json!(round(log_us(buckets.quantile(*share)) - below))
            });
            let mut series = line(name, data.collect());
            series["stack"] = json!("bands");
            series["stackStrategy"] = json!("all");
            if index > 0 {
                series["areaStyle"] = json!({"opacity": 0.42 - 0.1 * index as f64});
            }
            series
        });
        let mut option = over_time("response time", &self.seconds(), series.collect());
        option["yAxis"]["axisLabel"]["formatter"] = json!("@us_of_log");
        option["yAxis"]["min"] = json!(axis_from(stretches.iter().map(|buckets| buckets.quantile(0.5))));
        option["tooltip"] = json!({"trigger": "axis", "formatter": "@band_tip"});
        mark(&mut option, &self.seconds(), self.marks);
        Chart {
            title: format!("Response time of {}: percentiles", self.kinds[0]),
            note: String::new(),
            option,
        }
    }

    /// How often which latency, over time, for the first type.
    pub fn heat_map(&self) -> Chart {
        let class = |ns: u64| (log_us(ns) * CLASSES_PER_DECADE).floor() as i64;
        let columns: Vec<(f64, Buckets)> = merged(self.points, HEAT_COLUMNS_MAX)
            .map(|points| (points[points.len() - 1].second, Series::buckets(points, 0)))
            .collect();
        let all = columns.iter().flat_map(|(_, buckets)| buckets.entries());
        let classes: Vec<i64> = all.map(|(value, _)| class(*value)).collect();
        let (low, high) = (
            classes.iter().min().copied().unwrap_or(0),
            classes.iter().max().copied().unwrap_or(0),
        );
        let (mut data, mut most) = (Vec::new(), 1);
        for (x, (_, buckets)) in columns.iter().enumerate() {
            let mut column = vec![0; (high - low + 1) as usize];
            for (value, count) in buckets.entries() {
                column[(class(*value) - low) as usize] += count;
            }
            for (y, count) in column.iter().enumerate().filter(|(_, count)| **count > 0) {
                most = most.max(*count);
                data.push(json!([x, y, count]));
            }
        }
        let rows: Vec<String> = (low..=high)
            .map(|class| duration(10f64.powf(class as f64 / CLASSES_PER_DECADE)))
            .collect();
        let seconds: Vec<String> = columns
            .iter()
            .map(|(second, _)| format!("{:.1} s", second + 0.0))
            .collect();
        Chart {
            title: format!("Response time of {}: how often which", self.kinds[0]),
            note: String::new(),
            option: json!({
                "grid": {"left": 8, "right": 16, "top": 16, "bottom": 44, "containLabel": true},
                "tooltip": {"formatter": "@heat_tip"},
                "xAxis": {"type": "category", "data": seconds, "axisLabel": {"hideOverlap": true}},
                "yAxis": {"type": "category", "data": rows, "axisLabel": {"hideOverlap": true}},
                "visualMap": {"min": 0, "max": most, "orient": "horizontal", "left": "center", "bottom": 0, "itemHeight": 120,
                              "itemWidth": 12, "calculable": false, "formatter": "@number"},
                "series": [{"type": "heatmap", "data": data}],
            }),
        }
    }

    /// The 99th percentile of every type.
    pub fn tails(&self) -> Chart {
        let series = self.shown().map(|(kind, name)| {
            let data = merged(self.points, POINTS_MAX).map(|points| {
                let buckets = Series::buckets(points, kind);
                if buckets.is_empty() {
                    json!("-")
                } else {
                    json!(log_us(buckets.quantile(0.99)))
                }
            });
            line(name, data.collect())
        });
        let mut option = over_time("response time", &self.seconds(), series.collect());
        let all = self
            .shown()
            .map(|(kind, _)| Series::buckets(self.points, kind).quantile(0.5));
        option["yAxis"]["min"] = json!(axis_from(all));
        option["yAxis"]["axisLabel"]["formatter"] = json!("@us_of_log");
        option["tooltip"]["valueFormatter"] = json!("@us_of_log");
        mark(&mut option, &self.seconds(), self.marks);
        Chart {
            title: "99th percentile by type".into(),
            note: String::new(),
            option,
        }
    }

    /// Failed transactions and repeated attempts by SQLSTATE; `None` when there were none.
    pub fn errors(&self) -> Option<Chart> {
        type Counts = std::collections::BTreeMap<String, u64>;
        fn failed(point: &SeriesPoint) -> &Counts {
            &point.errors_by_sqlstate
        }
        fn run_again(point: &SeriesPoint) -> &Counts {
            &point.retries_by_sqlstate
        }
        let mut series = Vec::new();
        for (what, of) in [
            ("failed", failed as fn(&SeriesPoint) -> &Counts),
            ("run again", run_again),
        ] {
            let states: std::collections::BTreeSet<&String> =
                self.points.iter().flat_map(|point| of(point).keys()).collect();
            for state in states {
                let data = merged(self.points, POINTS_MAX).map(|points| {
                    let count: u64 = points.iter().filter_map(|point| of(point).get(state)).sum();
                    let seconds: f64 = points.iter().map(|point| point.seconds).sum();
                    json!(round(count as f64 / seconds.max(1e-9)))
                });
                series.push(json!({"name": format!("{state} {what}"), "type": "bar", "stack": what, "data": data.collect::<Vec<_>>()}));
            }
        }
        if series.is_empty() {
            return None;
        }
        let mut option = over_time("per second", &self.seconds(), series);
        mark(&mut option, &self.seconds(), self.marks);
        Some(Chart {
            title: "Errors and retries by SQLSTATE".into(),
            note: String::new(),
            option,
        })
    }
}

/// A type's latencies over the measured window.
pub struct KindLatency<'a> {
    pub name: &'a str,
    pub latency: Buckets,
}

/// Share of transactions that were at least as fast.
pub fn distribution(kinds: &[KindLatency<'_>]) -> Chart {
    let series = kinds.iter().map(|kind| {
        let total = kind.latency.count().max(1) as f64;
        let mut seen = 0;
        let mut data: Vec<(f64, f64)> = Vec::new();
        let mut kept = (f64::MIN, f64::MIN);
        for (value, count) in kind.latency.entries() {
            seen += count;
            let point = (log_us(*value), round(100.0 * seen as f64 / total));
            // A picture cannot show finer steps; the last point stands for those that were left out.
            if point.0 - kept.0 >= 0.01 || point.1 - kept.1 >= 0.5 || seen as f64 >= total {
                data.push(point);
                kept = point;
            }
        }
        line(kind.name, data.iter().map(|(x, y)| json!([x, y])).collect())
    });
    let mut option = frame("of all at most as slow", series.collect());
    option["xAxis"]["axisLabel"]["formatter"] = json!("@us_of_log");
    option["xAxis"]["axisPointer"] = json!({"label": {"formatter": "@pointer_us"}});
    option["yAxis"]["axisLabel"]["formatter"] = json!("@percent");
    option["yAxis"]["max"] = json!(100);
    option["tooltip"]["valueFormatter"] = json!("@percent");
    Chart {
        title: "Response times by type: cumulative".into(),
        note: String::new(),
        option,
    }
}

/// How often each class of latency occurred (the picture of clause 5.6.1).
pub fn frequency(kinds: &[KindLatency<'_>]) -> Chart {
    let series = kinds.iter().map(|kind| {
        let mut classes = std::collections::BTreeMap::new();
        for (value, count) in kind.latency.entries() {
            *classes
                .entry((log_us(*value) * CLASSES_PER_DECADE).floor() as i64)
                .or_insert(0u64) += count;
        }
        let data = classes
            .iter()
            .map(|(class, count)| json!([round((*class as f64 + 0.5) / CLASSES_PER_DECADE), count]));
        line(kind.name, data.collect())
    });
    let mut option = frame("transactions", series.collect());
    option["xAxis"]["axisPointer"] = json!({"label": {"formatter": "@pointer_us"}});
    option["xAxis"]["axisLabel"]["formatter"] = json!("@us_of_log");
    Chart {
        title: "Response times by type: frequency".into(),
        note: String::new(),
        option,
    }
}

/// How often terminals thought for how long after a new order (the picture of clause 5.6.3). Classes are fifths of the mean; the last
/// one holds all that are longer.
pub fn think_times(classes: &[u64]) -> Chart {
    let names: Vec<String> = (0..classes.len())
        .map(|class| match class + 1 == classes.len() {
            true => "more".to_string(),
            false => format!("{:.1}", class as f64 / 5.0),
        })
        .collect();
    let mut option = frame(
        "think times",
        vec![json!({"type": "bar", "name": "new orders", "data": classes, "barCategoryGap": "8%"})],
    );
    option["xAxis"] = json!({"type": "category", "data": names, "name": "multiples of the mean, from", "nameLocation": "middle",
        "nameGap": 26, "axisLabel": {"hideOverlap": true}, "splitLine": {"show": false}});
    option["grid"]["bottom"] = json!(28);
    Chart {
        title: "Think times of new orders: frequency".into(),
        note: "Clause 5.6.3. Drawn from a negative exponential distribution that is cut at ten times the mean (clause 5.2.5.4).".into(),
        option,
    }
}

/// Response time against throughput (the picture of clause 5.6.2): a point for each step of each line.
pub fn against_throughput(title: &str, y_name: &str, lines: &[(String, Vec<(f64, f64)>)]) -> Chart {
    let mut chart = ladder(title, "NOPM", y_name, lines);
    chart.option["xAxis"]["type"] = "value".into();
    chart.option["tooltip"]["trigger"] = "item".into();
    chart.note = "Where a line turns back, more connections bring waiting and no throughput.".into();
    chart
}

/// Quartiles with the first and the last hundredth.
pub fn boxes(kinds: &[KindLatency<'_>]) -> Chart {
    let shown: Vec<&KindLatency<'_>> = kinds.iter().filter(|kind| !kind.latency.is_empty()).collect();
    let data: Vec<Vec<f64>> = shown
        .iter()
        .map(|kind| {
            [0.01, 0.25, 0.5, 0.75, 0.99]
                .map(|share| log_us(kind.latency.quantile(share)))
                .to_vec()
        })
        .collect();
    let names: Vec<&str> = shown.iter().map(|kind| kind.name).collect();
    Chart {
        title: "Response times by type: quartiles, p1 and p99".into(),
        note: String::new(),
        option: json!({
            "grid": {"left": 8, "right": 16, "top": 16, "bottom": 8, "containLabel": true},
            "tooltip": {"formatter": "@box_tip"},
            "xAxis": {"type": "value", "axisLabel": {"formatter": "@us_of_log", "hideOverlap": true},
                      "min": axis_from(shown.iter().map(|kind| kind.latency.quantile(0.01)))},
            "yAxis": {"type": "category", "data": names, "inverse": true},
            "series": [{"type": "boxplot", "data": data, "itemStyle": {"color": "rgba(86,180,233,0.35)"}}],
        }),
    }
}

/// Where an axis of logarithms begins: the half decade below the smallest value.
fn axis_from(values: impl Iterator<Item = u64>) -> f64 {
    let smallest = values.filter(|value| *value > 0).min().unwrap_or(1_000);
    (log_us(smallest) * 2.0).floor() / 2.0
}

fn duration(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.1} s", us / 1e6),
        us if us >= 1e3 => format!("{:.1} ms", us / 1e3),
        us => format!("{us:.0} us"),
    }
}

/// Lines of one figure over another, as over a ladder of connections.
pub fn ladder(title: &str, x_name: &str, y_name: &str, lines: &[(String, Vec<(f64, f64)>)]) -> Chart {
    let series = lines.iter().map(|(name, points)| {
        let mut series = line(name, points.iter().map(|(x, y)| json!([x, round(*y)])).collect());
        series["showSymbol"] = json!(true);
        if name.starts_with("published") {
            series["lineStyle"] = json!({"type": "dashed", "width": 1.6});
        }
        series
    });
    let mut option = frame(y_name, series.collect());
    option["xAxis"] = json!({"type": "log", "logBase": 2, "name": x_name, "nameLocation": "middle", "nameGap": 26,
                             "axisLabel": {"formatter": "@number", "hideOverlap": true}, "splitLine": {"show": false}});
    option["grid"]["bottom"] = json!(28);
    Chart {
        title: title.into(),
        note: String::new(),
        option,
    }
}

/// One bar for each name and series; a height that is not known is left out.
/// What they must not exceed is a line.
pub fn bars(
    title: &str,
    unit: &str,
    names: &[&str],
    bars: &[(String, Vec<Option<f64>>)],
    limit: Option<f64>,
) -> Chart {
    let mut series: Vec<Value> = bars
        .iter()
        .map(|(name, values)| {
            let data: Vec<Value> = values.iter().map(|value| json!(value.map(round))).collect();
            json!({"type": "bar", "name": name, "data": data})
        })
        .collect();
    if let (Some(limit), Some(first)) = (limit, series.first_mut()) {
        first["markLine"] = json!({"symbol": "none", "silent": true, "data": [{"yAxis": limit}],
            "label": {"formatter": "limit", "position": "insideEndTop", "color": "inherit", "textBorderWidth": 0}});
    }
    let mut option = frame(unit, series);
    option["xAxis"] = json!({"type": "category", "data": names, "axisLabel": {"rotate": 50, "interval": 0, "fontSize": 10},
                             "splitLine": {"show": false}});
    Chart {
        title: title.into(),
        note: String::new(),
        option,
    }
}

/// Ratios to a base with their intervals; the line at 1 is the base.
pub fn whiskers(title: &str, note: &str, rows: &[(String, f64, f64, f64)]) -> Chart {
    let names: Vec<&String> = rows.iter().map(|(name, ..)| name).collect();
    let mut series: Vec<Value> = rows
        .iter()
        .filter(|(_, _, low, high)| low.is_finite() && high.is_finite())
        .map(|(name, _, low, high)| {
            json!({"type": "line", "data": [[round(*low), name], [round(*high), name]], "symbol": "rect", "symbolSize": [3, 14],
                   "lineStyle": {"width": 3}, "color": "#8a929a", "silent": true})
        })
        .collect();
    let dots: Vec<Value> = rows
        .iter()
        .map(|(name, ratio, ..)| json!([round(*ratio), name]))
        .collect();
    series.push(json!({"type": "scatter", "data": dots, "symbolSize": 12, "z": 5,
        "markLine": {"symbol": "none", "silent": true, "label": {"formatter": "base", "color": "inherit", "textBorderWidth": 0},
            "data": [{"xAxis": 1}]}}));
    Chart {
        title: title.into(),
        note: note.into(),
        option: json!({
            "grid": {"left": 8, "right": 28, "top": 24, "bottom": 8, "containLabel": true},
            "tooltip": {"trigger": "item", "valueFormatter": "@ratio"},
            "xAxis": {"type": "value", "scale": true, "axisLabel": {"formatter": "@ratio", "hideOverlap": true}},
            "yAxis": {"type": "category", "data": names, "inverse": true},
            "series": series,
        }),
    }
}

/// Plain lines over the same seconds.
pub fn lines(
    title: &str,
    y_name: &str,
    seconds: &[f64],
    lines: &[(&str, Vec<f64>)],
    marks: &[Mark],
) -> Chart {
    let series = lines
        .iter()
        .map(|(name, values)| line(name, values.iter().map(|value| json!(round(*value))).collect()));
    let mut option = over_time(y_name, seconds, series.collect());
    mark(&mut option, seconds, marks);
    Chart {
        title: title.into(),
        note: String::new(),
        option,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use mote_measure::outcome::SeriesKind;

    fn points(seconds: usize) -> Vec<SeriesPoint> {
        let kind = |second: usize| SeriesKind {
            count: 10,
            p50_us: 0.0,
            p95_us: 0.0,
            p99_us: 0.0,
            max_us: 0.0,
            latency: serde_json::from_str(&format!("[[1000000, 9], [{}, 1]]", 2_000_000 + second))
                .expect("buckets"),
        };
        let point = |second: usize| SeriesPoint {
            second: second as f64 - 5.0,
            seconds: 1.0,
            kinds: vec![kind(second)],
            errors: 0,
            retries: 1,
            errors_by_sqlstate: BTreeMap::new(),
            retries_by_sqlstate: BTreeMap::from([("40001".to_string(), 1)]),
        };
        (0..seconds).map(point).collect()
    }

    #[test]
    fn bands_add_up_to_the_percentiles_and_long_runs_stay_small() {
        let points = points(7_200);
        let marks = [Mark {
            second: 60.0,
            what: "checkpoint".into(),
        }];
        let series = Series {
            kinds: &["A"],
            points: &points,
            hidden: None,
            marks: &marks,
        };
        let bands = series.bands().option;
        let at = |index: usize| bands["series"][index]["data"][100].as_f64().expect("a number");
        assert!((at(0) - 3.0).abs() < 1e-3, "the median is 1 ms");
        assert!((at(0) + at(1) + at(2) + at(3) - 2_002f64.log10()).abs() < 2e-3);
        let length = bands["series"][0]["data"].as_array().map_or(0, Vec::len);
        assert!((200..=POINTS_MAX).contains(&length), "{length}");
        assert_eq!(bands["series"][0]["markLine"]["data"][0]["xAxis"], 2);
        let short = Series {
            points: &points[..20],
            ..series
        };
        let warm_up = &short.bands().option["series"][0]["markArea"];
        assert_eq!(
            warm_up["data"][0][1]["xAxis"], 5,
            "five seconds lie before the window"
        );
        let heat: u64 = series.heat_map().option["series"][0]["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|cell| cell[2].as_u64())
            .sum();
        assert_eq!(heat, 72_000, "every transaction is in one cell");
        let errors = series.errors().expect("there were retries").option;
        assert_eq!(errors["series"][0]["name"], "40001 run again");
        assert_eq!(series.throughput().option["series"][0]["data"][3], 600.0);
    }

    #[test]
    fn a_series_of_nothing_draws_nothing_and_fails_nowhere() {
        let series = Series {
            kinds: &["A"],
            points: &[],
            hidden: None,
            marks: &[],
        };
        assert!(series.errors().is_none());
        for chart in [
            series.throughput(),
            series.bands(),
            series.heat_map(),
            series.tails(),
        ] {
            assert!(!chart.option.to_string().contains("null"));
        }
        assert_eq!(machine(&[], &[]).len(), 5);
    }
}
