// Asks what goes on, every two seconds, and shows it. All text enters as text, never as markup.
(function () {
  'use strict';
  var EVERY_MS = 2000, failures = 0, drawn = {};
  var place = function (id) { return document.getElementById(id); };
  var element = function (name, text, kind) {
    var made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  var fill = function (into, children) { into.replaceChildren.apply(into, children); };
  var clock = function (s) {
    var two = function (n) { return (n < 10 ? '0' : '') + n; };
    return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
  };
  var chart = function (one) {
    var section = document.createElement('section'), box = document.createElement('div');
    box.className = 'chart';
    box.setAttribute('role', 'img');
    box.setAttribute('aria-label', one.title);
    section.append(element('h3', one.title), box);
    return { section: section, box: box };
  };
  // A picture that is there already is drawn anew in its place.
  var pictures = function (charts) {
    var titles = charts.map(function (one) { return one.title; });
    Object.keys(drawn).forEach(function (title) {
      if (titles.indexOf(title) < 0) {
        window.pageCharts.forget(drawn[title].box);
        drawn[title].section.remove();
        delete drawn[title];
      }
    });
    charts.forEach(function (one) {
      if (!drawn[one.title]) {
        drawn[one.title] = chart(one);
        place('charts').append(drawn[one.title].section);
      }
      window.pageCharts.show(drawn[one.title].box, JSON.stringify(one.option));
    });
  };
  var show = function (record) {
    var over = record.ended !== null;
    document.title = (over ? 'ended: ' : 'live: ') + record.title;
    place('title').textContent = record.title;
    place('phase').textContent = over ? 'The command has ended.' : record.phase || 'begins';
    fill(place('state'), [element('span', (over ? 'after ' : 'live, since ') + clock(record.elapsed_s) + (record.reports > 0 ? ' · ' : ''))]);
    if (record.reports > 0) {
      var link = element('a', over ? 'the report' : 'the report so far');
      link.href = '/report';
      if (!over) { link.target = '_blank'; link.rel = 'noopener'; }
      place('state').append(link);
    }
    fill(place('cards'), record.cards.map(function (one) {
      var card = element('div', '', 'card');
      card.append(element('b', one[1]), element('small', one[0]));
      return card;
    }));
    place('run').textContent = record.run || '';
    pictures(record.charts);
    fill(place('runs'), record.runs.map(function (run) {
      var row = document.createElement('tr');
      run.forEach(function (cell) { row.append(element('td', cell)); });
      return row;
    }));
    if (over && record.reports > 0) { location.replace('/report'); return false; }
    return !over;
  };
  var ask = function () {
    fetch('/record', { cache: 'no-store' }).then(function (said) {
      if (!said.ok) throw new Error(said.status);
      return said.json();
    }).then(function (record) {
      failures = 0;
      if (show(record)) setTimeout(ask, EVERY_MS);
    }).catch(function () {
      failures += 1;
      if (failures < 3) { setTimeout(ask, EVERY_MS); return; }
      place('phase').textContent = 'The command does not answer any more: it has ended, or its machine is very busy.';
      setTimeout(ask, 5 * EVERY_MS);
    });
  };
  ask();
})();
