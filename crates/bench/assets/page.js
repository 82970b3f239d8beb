// Draws the charts that the page declares. Each chart's option is JSON; a string "@name" in it stands for a function below.
(function () {
  'use strict';
  var trim = function (x) { return x.indexOf('.') < 0 ? x : x.replace(/\.?0+$/, ''); };
  var us = function (v) {
    if (v >= 1e6) return trim((v / 1e6).toPrecision(3)) + ' s';
    if (v >= 1e3) return trim((v / 1e3).toPrecision(3)) + ' ms';
    return trim(v.toPrecision(3)) + ' us';
  };
  var number = function (v) {
    if (v === null || v === undefined || v === '-') return '-';
    var a = Math.abs(v);
    if (a >= 1e9) return trim((v / 1e9).toFixed(2)) + ' G';
    if (a >= 1e6) return trim((v / 1e6).toFixed(2)) + ' M';
    if (a >= 1e4) return trim((v / 1e3).toFixed(1)) + ' k';
    return a >= 100 || v === Math.round(v) ? String(Math.round(v)) : trim(v.toPrecision(3));
  };
  var named = {
    number: number,
    us_of_log: function (v) { return v === '-' || v === null || v === undefined ? '-' : us(Math.pow(10, v)); },
    pointer_us: function (p) { return us(Math.pow(10, p.value)); },
    percent: function (v) { return trim(Number(v).toFixed(3)) + ' %'; },
    ratio: function (v) { return trim(Number(v).toFixed(3)); },
    band_tip: function (points) { // the series are stacked differences of logarithms
      var sum = 0, text = points.length ? points[0].axisValueLabel : '';
      points.forEach(function (p) {
        if (p.data === '-' || p.data === null) return;
        sum += Array.isArray(p.data) ? p.data[1] : p.data;
        text += '<br>' + p.marker + p.seriesName + ' <b>' + us(Math.pow(10, sum)) + '</b>';
      });
      return text;
    },
    box_tip: function (p) {
      var d = p.data.slice(-5), names = ['p1', 'p25', 'p50', 'p75', 'p99'];
      return p.name + d.map(function (v, i) { return '<br>' + names[i] + ' <b>' + us(Math.pow(10, v)) + '</b>'; }).join('');
    },
    heat_tip: function (p) { return p.name + ': <b>' + number(p.data[2]) + '</b> transactions'; }
  };
  var revive = function (value) {
    if (typeof value === 'string' && value[0] === '@') return named[value.slice(1)];
    if (Array.isArray(value)) return value.map(revive);
    if (value && typeof value === 'object') {
      var out = {};
      Object.keys(value).forEach(function (key) { out[key] = revive(value[key]); });
      return out;
    }
    return value;
  };
  var theme = function (dark) {
    var ink = dark ? '#e6edf3' : '#1b1f24', soft = dark ? '#9198a1' : '#59636e', line = dark ? '#30363d' : '#d0d7de';
    var axis = {
      axisLine: { lineStyle: { color: soft } }, axisTick: { lineStyle: { color: soft } },
      axisLabel: { color: soft }, splitLine: { lineStyle: { color: line } }, nameTextStyle: { color: soft }
    };
    return {
      // Okabe and Ito's colours, which all kinds of eyes can tell apart
      color: dark ? ['#56b4e9', '#f28e4b', '#3cc3a0', '#e39bc5', '#f0c14b', '#9aa7b4', '#8f8cf2']
                  : ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#b8860b', '#6e7781', '#5b57c8'],
      backgroundColor: 'transparent', textStyle: { color: ink, fontFamily: 'system-ui, sans-serif' },
      legend: { textStyle: { color: ink }, pageTextStyle: { color: soft }, pageIconColor: ink, pageIconInactiveColor: line },
      tooltip: { backgroundColor: dark ? '#161b22' : '#fff', borderColor: line, textStyle: { color: ink } },
      visualMap: { textStyle: { color: soft } },
      categoryAxis: axis, valueAxis: axis, logAxis: axis, timeAxis: axis
    };
  };
  echarts.registerTheme('light', theme(false));
  echarts.registerTheme('dark', theme(true));
  var scheme = matchMedia('(prefers-color-scheme: dark)'), charts = [];
  var prepared = function (place, dark) {
    var option = revive(JSON.parse(place.dataset.option));
    option.animation = false;
    if (option.legend) option.legend.right = 26;
    option.toolbox = { top: 0, right: 0, itemSize: 12, iconStyle: { borderColor: dark ? '#9198a1' : '#59636e' },
                       feature: { saveAsImage: { type: 'svg', title: 'save as SVG', name: place.getAttribute('aria-label') } } };
    if (option.visualMap) option.visualMap.inRange = { color: dark ? ['#12263a', '#1f6fae', '#56b4e9', '#ffe08a']
                                                                    : ['#eaf3fa', '#7db8de', '#0072b2', '#08306b'] };
    return option;
  };
  var make = function (place, dark) {
    var chart = echarts.init(place, dark ? 'dark' : 'light', { renderer: 'svg' });
    chart.setOption(prepared(place, dark));
    return chart;
  };
  var draw = function (dark) {
    charts.forEach(function (chart) { chart.dispose(); });
    charts = Array.prototype.map.call(document.querySelectorAll('.chart'), function (place) { return make(place, dark); });
  };
  var of = function (place) { return charts.filter(function (chart) { return chart.getDom() === place; })[0]; };
  // For a page whose charts come and change while it is open.
  window.pageCharts = {
    show: function (place, option) {
      var there = of(place);
      if (place.dataset.option === option) return;
      place.dataset.option = option;
      if (there) there.setOption(prepared(place, scheme.matches), true);
      else charts.push(make(place, scheme.matches));
    },
    forget: function (place) {
      var there = of(place);
      charts = charts.filter(function (chart) { return chart !== there; });
      if (there) there.dispose();
    }
  };
  // A chart's place is emptied when it is drawn, so its option moves to an attribute first.
  Array.prototype.forEach.call(document.querySelectorAll('.chart'), function (place) {
    place.dataset.option = place.querySelector('script').textContent;
    place.textContent = '';
  });
  draw(scheme.matches);
  scheme.addEventListener('change', function () { draw(scheme.matches); });
  addEventListener('resize', function () { charts.forEach(function (chart) { chart.resize(); }); });
  addEventListener('beforeprint', function () {
    document.querySelectorAll('details').forEach(function (one) { one.open = true; });
    draw(false);
  });
  addEventListener('afterprint', function () { draw(scheme.matches); });
})();
