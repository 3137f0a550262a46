// Draws the report from the JSON in the page. Text of the data only ever becomes text nodes.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const report = document.getElementById('report');
  const charts = [];
  const hasCharts = typeof Chart !== 'undefined';
  const palette = ['#0b7285', '#d9480f', '#5f3dc4', '#2b8a3e', '#c2255c', '#1864ab', '#e67700', '#495057'];
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const paletteDark = ['#3bc9db', '#ff922b', '#b197fc', '#69db7c', '#f783ac', '#74c0fc', '#ffd43b', '#ced4da'];
  const color = i => (dark.matches ? paletteDark : palette)[i % palette.length];
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- text ---------------------------------------------------------------------------------
  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === 'text') node.textContent = value;
      else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const digits = (x, n = 4) => Number(x.toPrecision(n)).toString();
  const time = ms => ms >= 1000 ? digits(ms / 1000) + ' s' : ms >= 1 ? digits(ms) + ' ms'
    : ms >= 1e-3 ? digits(ms * 1e3) + ' µs' : digits(ms * 1e6) + ' ns';
  const count = n => n.toLocaleString('en');
  const percent = share => (100 * share).toFixed(share >= 0.9995 ? 0 : 1) + ' %';
  const median = sorted => sorted.length % 2 ? sorted[(sorted.length - 1) / 2]
    : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;

  // ---- tables -------------------------------------------------------------------------------
  // columns: {title, number}; cells: text, or {text, value} where they sort by another value.
  const table = (caption, columns, rows, limit = 200) => {
    const body = element('tbody');
    let shown = rows;
    const fill = () => body.replaceChildren(...shown.slice(0, limit).map(row =>
      element('tr', {}, ...row.map((cell, i) => element('td', {
        class: columns[i].number ? 'number' : null,
        text: cell !== null && typeof cell === 'object' ? cell.text : cell ?? '',
      })))));
    const value = cell => cell !== null && typeof cell === 'object' ? cell.value : cell;
    const headers = columns.map((column, i) => {
      const header = element('th', {scope: 'col', class: column.number ? 'number' : null});
      header.append(element('button', {
        type: 'button', text: column.title,
        onclick: () => {
          const down = header.getAttribute('aria-sort') === 'ascending';
          headers.forEach(other => other.removeAttribute('aria-sort'));
          header.setAttribute('aria-sort', down ? 'descending' : 'ascending');
          shown = [...rows].sort((a, b) => {
            const [x, y] = [value(a[i]), value(b[i])];
            if (x === y) return 0;
            if (x === null || x === '') return 1;
            if (y === null || y === '') return -1;
            return (x < y ? -1 : 1) * (down ? -1 : 1);
          });
          fill();
        },
      }));
      return header;
    });
    fill();
    const note = rows.length > limit ? ` (${count(limit)} of ${count(rows.length)}; sorting shows others)` : '';
    return element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
      element('table', {}, element('caption', {text: caption + note}),
        element('thead', {}, element('tr', {}, ...headers)), body));
  };

  // ---- charts -------------------------------------------------------------------------------
  const theme = () => {
    if (!hasCharts) return;
    Chart.defaults.color = css('--quiet');
    Chart.defaults.borderColor = css('--line');
    Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
  };
  // `make` gives Chart.js's configuration; it is asked again when light turns to dark.
  const chart = (title, words, make, data_table, low = false) => {
    const figure = element('figure', {}, element('h3', {text: title}), element('figcaption', {text: words}));
    if (hasCharts) {
      const canvas = element('canvas', {role: 'img', 'aria-label': `${title}. ${words}`});
      figure.append(element('div', {class: low ? 'canvas low' : 'canvas'}, canvas));
      charts.push({canvas, make, drawn: null});
    }
    if (data_table) {
      figure.append(hasCharts ? element('details', {}, element('summary', {text: `${title}: as a table`}), data_table)
        : data_table);
    }
    return figure;
  };
  const draw = () => {
    theme();
    for (const one of charts) {
      if (one.drawn) one.drawn.destroy();
      one.drawn = new Chart(one.canvas, one.make());
    }
  };
  const axis = (title, type = 'linear') => ({type, title: {display: true, text: title}});
  const msAxis = title => ({...axis(title, 'logarithmic'), ticks: {callback: v => {
    const lead = v / 10 ** Math.floor(Math.log10(v) + 1e-9);
    return [1, 2, 5].some(n => Math.abs(lead - n) < 1e-6) ? time(v) : null;
  }}});

  // ---- rows ---------------------------------------------------------------------------------
  const parameters = data.parameters;
  const valueText = (rows, p, i) => rows.values[p][i] < 0 ? null : parameters[p].values[rows.values[p][i]];
  const configuration = (rows, i) => parameters.map((one, p) => [one.name, valueText(rows, p, i)])
    .filter(([, v]) => v !== null).map(([n, v]) => `${n}=${v}`).join(',');
  const indices = rows => rows.ms.map((_, i) => i);
  const timedOf = rows => indices(rows).filter(i => rows.ms[i] !== null);
  const numeric = text => text !== null && text !== '' && isFinite(text) ? Number(text) : text;
  const inOrder = values => [...values].sort((a, b) => {
    const [x, y] = [numeric(a), numeric(b)];
    return typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === 'number' ? -1 : 1;
  });
  // The parameters that some configuration of the kernel (or of all, -1) has, with more than one value.
  const varied = (rows, kernel) => parameters.map((_, p) => p).filter(p => new Set(indices(rows)
    .filter(i => kernel < 0 || rows.kernel[i] === kernel).map(i => rows.values[p][i]).filter(v => v >= 0)).size > 1);

  // Share of the variance of log time among a kernel's configurations that one parameter explains.
  const explained = (rows, list, p) => {
    const logs = list.map(i => Math.log(rows.ms[i]));
    const mean = logs.reduce((a, b) => a + b, 0) / logs.length;
    const total = logs.reduce((a, b) => a + (b - mean) ** 2, 0);
    const groups = new Map();
    list.forEach((i, n) => {
      const v = rows.values[p][i];
      const group = groups.get(v) ?? {sum: 0, n: 0};
      group.sum += logs[n]; group.n += 1;
      groups.set(v, group);
    });
    let between = 0;
    for (const {sum, n} of groups.values()) between += n * (sum / n - mean) ** 2;
    return total > 0 ? between / total : 0;
  };

  const tooltip = (rows, extra) => ({callbacks: {label: context => {
    const i = context.raw.i;
    return i === undefined ? '' : [data.kernels[rows.kernel[i]], configuration(rows, i), time(rows.ms[i]),
      ...(extra ? [extra(i)] : [])];
  }}});
  const byKernel = (rows, list, point) => data.kernels.map((name, k) => ({
    label: name, data: list.filter(i => rows.kernel[i] === k).map(point), pointRadius: 2,
    backgroundColor: color(k), borderColor: color(k),
  })).filter(set => set.data.length > 0);
  const scatter = (rows, list, x, y, xAxis, yAxis, extra) => () => ({type: 'scatter',
    data: {datasets: byKernel(rows, list, i => ({x: x(i), y: y(i), i}))},
    options: {scales: {x: xAxis, y: yAxis}, normalized: true, parsing: false,
      plugins: {tooltip: tooltip(rows, extra)}}});

  // ---- parts --------------------------------------------------------------------------------
  const kernelTable = section => table('The best of each kernel', [
    {title: 'kernel'}, {title: 'configuration'}, {title: 'time', number: true},
    {title: 'its default', number: true}, {title: 'over its default', number: true}, {title: 'rate'},
    {title: 'compared with'}], section.best.map(one => [one.kernel, one.configuration,
    {text: time(one.ms), value: one.ms},
    one.default_ms === null ? '' : {text: time(one.default_ms), value: one.default_ms},
    one.default_ms === null ? '' : {text: digits(one.default_ms / one.ms, 3) + 'x', value: one.default_ms / one.ms},
    one.rate, one.compared_with.replaceAll('_', ' ')]));

  const ladder = section => chart('Speed of the kernels', 'Each with its best configuration and with its default, as a share of the winner’s speed.',
    () => ({type: 'bar', data: {labels: section.best.map(one => one.kernel), datasets: [
      {label: 'best', data: section.best.map(one => section.best[0].ms / one.ms), backgroundColor: color(0)},
      {label: 'default', data: section.best.map(one => one.default_ms === null ? null : section.best[0].ms / one.default_ms),
        backgroundColor: color(7)}]},
    options: {indexAxis: 'y', scales: {x: {...axis('share of the winner’s speed'), min: 0, max: 1}},
      plugins: {tooltip: {callbacks: {label: c => `${c.dataset.label}: ${percent(c.raw)}`}}}}}),
    null, section.best.length < 4);

  const everyTime = (section, rows, timed) => {
    const sorted = [...timed].sort((a, b) => rows.ms[a] - rows.ms[b]);
    const place = new Map(sorted.map((i, n) => [i, n + 1]));
    const failed = section.total - timed.length;
    return chart('Every configuration, sorted by time',
      `${count(timed.length)} that were timed, fastest left` + (rows.ms.length < section.total
        ? `: a sample of ${count(rows.ms.length)} of ${count(section.total)}.` : failed ? `; ${count(failed)} failed.` : '.'),
      scatter(rows, sorted, i => place.get(i), i => rows.ms[i], axis('rank'), msAxis('time (logarithmic)')),
      table('Configurations by time', [{title: 'rank', number: true}, {title: 'kernel'}, {title: 'configuration'},
        {title: 'time', number: true}, {title: 'registers', number: true}, {title: 'shared bytes', number: true},
        {title: 'occupancy %', number: true}], sorted.map((i, n) => [n + 1, data.kernels[rows.kernel[i]],
        configuration(rows, i), {text: time(rows.ms[i]), value: rows.ms[i]}, rows.registers[i], rows.shared[i],
        rows.occupancy[i]])));
  };

  const failures = rows => {
    const found = new Map();
    for (const i of indices(rows)) {
      if (rows.ms[i] !== null || data.statuses[rows.status[i]] === 'correct') continue;
      const key = `${rows.kernel[i]} ${rows.status[i]}`;
      const entry = found.get(key) ?? {kernel: rows.kernel[i], status: rows.status[i], n: 0, example: i};
      entry.n += 1;
      found.set(key, entry);
    }
    if (!found.size) return null;
    return table('Failures by reason', [{title: 'kernel'}, {title: 'status and reason'}, {title: 'configurations', number: true},
      {title: 'for example'}, {title: 'detail'}], [...found.values()].sort((a, b) => b.n - a.n).map(one =>
      [data.kernels[one.kernel], data.statuses[one.status], one.n, configuration(rows, one.example),
        data.details[rows.detail[one.example]]]));
  };

  const failuresByValue = (rows, kernel) => {
    const lines = [];
    for (const p of varied(rows, kernel)) {
      const groups = new Map();
      for (const i of indices(rows)) {
        if (rows.kernel[i] !== kernel || rows.values[p][i] < 0) continue;
        const entry = groups.get(rows.values[p][i]) ?? {n: 0, failed: 0};
        entry.n += 1;
        if (rows.ms[i] === null && data.statuses[rows.status[i]] !== 'correct') entry.failed += 1;
        groups.set(rows.values[p][i], entry);
      }
      if (![...groups.values()].some(entry => entry.failed)) continue;
      for (const v of inOrder([...groups.keys()].map(k => parameters[p].values[k]))) {
        const entry = groups.get(parameters[p].values.indexOf(v));
        lines.push([parameters[p].name, {text: v, value: numeric(v)}, entry.n, entry.failed,
          {text: percent(entry.failed / entry.n), value: entry.failed / entry.n}]);
      }
    }
    return lines.length ? table('Failures by parameter value', [{title: 'parameter'}, {title: 'value'},
      {title: 'tried', number: true}, {title: 'failed', number: true}, {title: 'share', number: true}], lines, 400) : null;
  };

  const byValue = (rows, timed, kernel) => {
    const list = timed.filter(i => rows.kernel[i] === kernel);
    if (list.length < 2) return null;
    const best = Math.min(...list.map(i => rows.ms[i]));
    const ranked = varied(rows, kernel).map(p => ({p, share: explained(rows, list, p)})).sort((a, b) => b.share - a.share);
    return element('div', {class: 'grid'}, ...ranked.map(({p, share}) => {
      const groups = new Map();
      for (const i of list) {
        const v = valueText(rows, p, i);
        if (v === null) continue;
        if (!groups.has(v)) groups.set(v, []);
        groups.get(v).push(rows.ms[i]);
      }
      const labels = inOrder(groups.keys());
      const bests = labels.map(v => best / Math.min(...groups.get(v)));
      const medians = labels.map(v => best / median(groups.get(v).sort((a, b) => a - b)));
      return chart(parameters[p].name, `Explains ${percent(share)} of the variance of log time by itself. Bars: share of the ` +
        'kernel’s best speed, of the best and of the median configuration with this value.',
      () => ({type: 'bar', data: {labels, datasets: [
        {label: 'best', data: bests, backgroundColor: color(0)},
        {label: 'median', data: medians, backgroundColor: color(1)}]},
      options: {scales: {y: {...axis('share of the best'), min: 0, max: 1}}}}),
      table(parameters[p].name, [{title: 'value'}, {title: 'timed', number: true}, {title: 'best', number: true},
        {title: 'median', number: true}], labels.map((v, n) => [{text: v, value: numeric(v)}, groups.get(v).length,
        {text: percent(bests[n]), value: bests[n]}, {text: percent(medians[n]), value: medians[n]}])), true);
    }));
  };

  // Viridis (Smith and van der Walt) at five places, between them linear.
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const heat = share => {
    const x = Math.max(0, Math.min(1, share)) * 4, n = Math.min(3, Math.floor(x));
    const rgb = stops[n].map((c, j) => Math.round(c + (x - n) * (stops[n + 1][j] - c)));
    const light = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    return {background: `rgb(${rgb})`, color: 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? '#fff' : '#000'};
  };
  const paint = (cell, share) => Object.assign(cell.style, heat(share));

  const heatMap = (rows, kernel) => {
    const names = varied(rows, kernel);
    if (names.length < 2) return null;
    const list = indices(rows).filter(i => rows.kernel[i] === kernel);
    const best = Math.min(...list.filter(i => rows.ms[i] !== null).map(i => rows.ms[i]));
    const timed = list.filter(i => rows.ms[i] !== null);
    const ranked = [...names].sort((a, b) => explained(rows, timed, b) - explained(rows, timed, a));
    const pick = (label, chosen, options) => {
      const select = element('select', {}, ...options.map(([value, text]) =>
        element('option', {value, text, selected: value === chosen ? '' : null})));
      return [element('label', {}, label, select), select];
    };
    const options = names.map(p => [String(p), parameters[p].name]);
    const [xLabel, x] = pick('Columns', String(ranked[0]), options);
    const [yLabel, y] = pick('Rows', String(ranked[1]), options);
    const [ofLabel, of] = pick('Color', 'best', [['best', 'best time'], ['median', 'median time']]);
    const place = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Heat map'});
    const fill = () => {
      const [px, py] = [Number(x.value), Number(y.value)];
      const cells = new Map();
      for (const i of list) {
        const key = `${rows.values[py][i]} ${rows.values[px][i]}`;
        const cell = cells.get(key) ?? {ms: [], failed: new Map()};
        if (rows.ms[i] !== null) cell.ms.push(rows.ms[i]);
        else cell.failed.set(rows.status[i], (cell.failed.get(rows.status[i]) ?? 0) + 1);
        cells.set(key, cell);
      }
      const values = p => inOrder([...new Set(list.map(i => rows.values[p][i]).filter(v => v >= 0))]
        .map(v => parameters[p].values[v]));
      const columns = values(px);
      place.replaceChildren(element('table', {},
        element('caption', {text: `Share of the best time of ${data.kernels[kernel]}: ${parameters[py].name} down, ` +
          `${parameters[px].name} across; the ${of.value} of all configurations with both values. In words: why nothing was timed.`}),
        element('thead', {}, element('tr', {}, element('th', {scope: 'col', text: `${parameters[py].name} \\ ${parameters[px].name}`}),
          ...columns.map(v => element('th', {scope: 'col', class: 'number', text: v})))),
        element('tbody', {}, ...values(py).map(vy => element('tr', {}, element('th', {scope: 'row', class: 'number', text: vy}),
          ...columns.map(vx => {
            const cell = cells.get(`${parameters[py].values.indexOf(vy)} ${parameters[px].values.indexOf(vx)}`);
            if (!cell) return element('td', {class: 'cell gap', text: '·', title: 'not tried'});
            if (!cell.ms.length) {
              const [status] = [...cell.failed].sort((a, b) => b[1] - a[1])[0];
              return element('td', {class: 'cell gap', text: data.statuses[status].split('/').pop(),
                title: `${cell.ms.length + [...cell.failed.values()].reduce((a, b) => a + b, 0)} failed: ${data.statuses[status]}`});
            }
            const ms = of.value === 'best' ? Math.min(...cell.ms) : median(cell.ms.sort((a, b) => a - b));
            const td = element('td', {class: 'cell', text: percent(best / ms), title: `${time(ms)}, ${cell.ms.length} timed`});
            paint(td, best / ms);
            return td;
          }))))));
    };
    for (const select of [x, y, of]) select.addEventListener('change', fill);
    fill();
    return element('div', {}, element('div', {class: 'controls'}, yLabel, xLabel, ofLabel), place);
  };

  const parallel = (rows, timed, kernel) => {
    const list = timed.filter(i => rows.kernel[i] === kernel);
    const names = varied(rows, kernel);
    if (list.length < 2 || names.length < 2 || !hasCharts) return null;
    const order = names.map(p => inOrder([...new Set(list.map(i => rows.values[p][i]).filter(v => v >= 0))]
      .map(v => parameters[p].values[v])));
    const place = order.map(values => new Map(values.map((v, n) => [v, values.length > 1 ? n / (values.length - 1) : 0.5])));
    const best = Math.min(...list.map(i => rows.ms[i]));
    const bands = [[0, 0.5, 'below half of the best'], [0.5, 0.8, '50 to 80 %'], [0.8, 0.95, '80 to 95 %'], [0.95, 2, 'within 5 % of the best']];
    // Not more lines than can be told apart: the fastest of each band, evenly spread.
    const most = 400;
    return chart('Parallel coordinates', `${data.kernels[kernel]}: a line for each configuration through its values ` +
      '(lowest value at the bottom), colored by its share of the best time. At most 400 lines of each color.',
    () => ({type: 'scatter', data: {datasets: bands.map(([low, high, label], b) => {
      let members = list.filter(i => best / rows.ms[i] >= low && best / rows.ms[i] < high);
      const step = Math.max(1, members.length / most);
      members = members.filter((_, n) => Math.floor(n / step) !== Math.floor((n - 1) / step));
      const points = members.flatMap(i => [...names.map((p, n) => ({x: n, y: place[n].get(valueText(rows, p, i)) ?? NaN, i})),
        {x: NaN, y: NaN}]);
      return {label, data: points, showLine: true, spanGaps: false, pointRadius: 0, borderWidth: b === 3 ? 2 : 1,
        borderColor: heat(0.15 + 0.28 * b).background, backgroundColor: heat(0.15 + 0.28 * b).background, order: 3 - b};
    })}, options: {normalized: false, scales: {
      x: {type: 'linear', min: 0, max: names.length - 1, ticks: {stepSize: 1, autoSkip: false, callback: n => parameters[names[n]]?.name}},
      y: {min: -0.02, max: 1.02, ticks: {display: false}}}, plugins: {tooltip: {enabled: false}}}}), null);
  };

  const resources = (rows, timed) => {
    const list = timed.filter(i => rows.occupancy[i] !== null);
    if (list.length < 2) return null;
    const one = (name, title) => chart(`Time against ${title}`, `Each point is a timed configuration.`,
      scatter(rows, list, i => rows[name][i], i => rows.ms[i], axis(title), msAxis('time')), null, false);
    return element('div', {class: 'grid'}, one('shared', 'shared memory of a block (bytes)'),
      one('registers', 'registers per thread'), one('occupancy', 'occupancy (%)'), one('threads', 'threads of a block'));
  };

  const roofline = (section, rows, timed) => {
    const list = timed.filter(i => rows.flops[i] > 0 && rows.bytes[i] > 0);
    if (!list.length || !(section.flops_per_s > 0) || !(section.bytes_per_s > 0)) return null;
    const intensity = i => rows.flops[i] / rows.bytes[i];
    const rate = i => rows.flops[i] / rows.ms[i] / 1e9;
    const xs = list.map(intensity);
    const knee = section.flops_per_s / section.bytes_per_s;
    const [low, high] = [Math.min(knee / 8, ...xs) / 2, Math.max(knee * 8, ...xs) * 2];
    return chart('Roofline', 'Single-precision work per second against work per byte that must move. The roof is what clocks ' +
      'and widths allow (tensor cores and other precisions have others).', () => {
      const config = scatter(rows, list, intensity, rate, axis('FLOP per byte', 'logarithmic'), axis('TFLOP/s', 'logarithmic'),
        i => `${digits(rate(i), 3)} TFLOP/s`)();
      config.data.datasets.push({label: 'roof', showLine: true, pointRadius: 0, borderColor: css('--quiet'), backgroundColor: css('--quiet'),
        data: [low, knee, high].map(x => ({x, y: Math.min(section.flops_per_s, section.bytes_per_s * x) / 1e12}))});
      return config;
    }, null);
  };

  const convergence = section => {
    const steps = section.convergence;
    if (steps.length < 2) return null;
    const last = steps[steps.length - 1][2];
    const one = (title, at, xTitle) => chart(title, 'The best time so far; finals are left out.', () => ({type: 'scatter', data: {datasets: [{
      label: 'best so far', showLine: true, stepped: true, pointRadius: 2, borderColor: color(0), backgroundColor: color(0),
      data: steps.map(step => ({x: step[at], y: step[2]}))}]}, options: {plugins: {legend: {display: false},
      tooltip: {callbacks: {label: c => `${time(c.raw.y)} at ${digits(c.raw.x, 3)}`}}},
    scales: {x: axis(xTitle), y: msAxis('time')}}}), table(title, [{title: xTitle, number: true}, {title: 'best so far', number: true},
      {title: 'share of the last', number: true}], steps.map(step => [{text: digits(step[at], 4), value: step[at]},
      {text: time(step[2]), value: step[2]}, {text: percent(last / step[2]), value: last / step[2]}])));
    return element('div', {class: 'grid'}, one('Convergence by evaluations', 0, 'evaluations'), one('Convergence by seconds', 1, 'seconds'));
  };

  const finalists = (rows, timed) => {
    const list = timed.filter(i => rows.low[i] !== null).sort((a, b) => rows.ms[a] - rows.ms[b]).slice(0, 20);
    if (!list.length) return null;
    const name = i => `${data.kernels[rows.kernel[i]]} ${configuration(rows, i)}`;
    return chart('Finalists', 'Bars: the 95 % confidence interval of each median. Where they overlap, neither is faster for certain.',
      () => ({type: 'bar', data: {labels: list.map((i, n) => `${n + 1}`), datasets: [{label: '95 % interval of the median',
        data: list.map(i => [rows.low[i], rows.high[i]]), backgroundColor: color(0), minBarLength: 2}]},
      options: {indexAxis: 'y', scales: {x: {...axis('time'), ticks: {callback: v => time(v)}}}, plugins: {legend: {display: false},
        tooltip: {callbacks: {title: c => name(list[c[0].dataIndex]), label: c => `${time(c.raw[0])} to ${time(c.raw[1])}`}}}}}),
      table('Finalists', [{title: '', number: true}, {title: 'configuration'}, {title: 'median', number: true}, {title: 'low', number: true},
        {title: 'high', number: true}, {title: 'quartiles'}], list.map((i, n) => [n + 1, name(i), {text: time(rows.ms[i]), value: rows.ms[i]},
        {text: time(rows.low[i]), value: rows.low[i]}, {text: time(rows.high[i]), value: rows.high[i]},
        `${time(rows.q1[i])} to ${time(rows.q3[i])}`])), list.length < 6);
  };

  // ---- several devices ----------------------------------------------------------------------
  const devicesSideBySide = () => {
    const labels = [...new Set(data.sections.map(s => s.device_label))];
    if (labels.length < 2) return null;
    const problems = [...new Set(data.sections.map(s => s.problem))];
    const parts = [];
    for (const problem of problems) {
      const here = data.sections.filter(s => s.problem === problem && s.best.length);
      if (here.length < 2) continue;
      const rowOf = here.map(s => {
        const index = new Map();
        indices(s.rows).forEach(i => index.set(`${s.rows.kernel[i]} ${configuration(s.rows, i)}`, i));
        return index;
      });
      const winner = s => `${data.kernels.indexOf(s.best[0].kernel)} ${s.best[0].configuration}`;
      const cells = here.map((of, r) => here.map((on, c) => {
        const i = rowOf[c].get(winner(of));
        return i === undefined ? null : on.rows.ms[i] === null ? {failed: data.statuses[on.rows.status[i]]}
          : {share: r === c ? 1 : Math.min(1, on.best[0].ms / on.rows.ms[i])};
      }));
      parts.push(element('h3', {text: problem}),
        table('Winners', [{title: 'device'}, {title: 'kernel'}, {title: 'configuration'}, {title: 'time', number: true}],
          here.map(s => [s.device_label, s.best[0].kernel, s.best[0].configuration, {text: time(s.best[0].ms), value: s.best[0].ms}])),
        element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Portability matrix'}, element('table', {},
          element('caption', {text: 'What each device’s best reaches on the others, as a share of their own best; a dot where it was never measured.'}),
          element('thead', {}, element('tr', {}, element('th', {scope: 'col', text: 'best of \\ run on'}),
            ...here.map(s => element('th', {scope: 'col', text: s.device_label})))),
          element('tbody', {}, ...here.map((s, r) => element('tr', {}, element('th', {scope: 'row', text: s.device_label}),
            ...cells[r].map(cell => {
              if (!cell) return element('td', {class: 'cell gap', text: '·', title: 'not measured'});
              if (cell.failed) return element('td', {class: 'cell gap', text: cell.failed});
              const td = element('td', {class: 'cell', text: percent(cell.share)});
              paint(td, cell.share);
              return td;
            })))))));
    }
    return parts.length ? element('section', {}, element('h2', {text: 'Devices side by side'}), ...parts) : null;
  };

  // ---- the page -----------------------------------------------------------------------------
  const download = (name, type, text) => {
    const link = element('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const csv = section => {
    const rows = section.rows;
    const quoted = cell => {
      const text = String(cell ?? '');
      // A spreadsheet takes what begins like this for a formula.
      return '"' + (/^[=+\-@\t\r]/.test(text) && !isFinite(text) ? "'" : '') + text.replaceAll('"', '""') + '"';
    };
    const header = ['kernel', ...parameters.map(p => p.name), 'status', 'ms', 'registers', 'shared_bytes', 'occupancy_percent', 'detail'];
    const lines = indices(rows).map(i => [data.kernels[rows.kernel[i]], ...parameters.map((_, p) => valueText(rows, p, i)),
      data.statuses[rows.status[i]], rows.ms[i], rows.registers[i], rows.shared[i], rows.occupancy[i], data.details[rows.detail[i]]]);
    return [header, ...lines].map(line => line.map(quoted).join(',')).join('\r\n') + '\r\n';
  };

  const body = element('div');
  const part = (title, ...nodes) => {
    const there = nodes.filter(node => node);
    if (there.length) body.append(element('h2', {text: title}), ...there);
  };
  const show = number => {
    charts.forEach(one => one.drawn && one.drawn.destroy());
    charts.length = 0;
    body.replaceChildren();
    const section = data.sections[number];
    const rows = section.rows, timed = timedOf(rows);
    body.append(element('div', {class: 'findings', role: 'status'}, ...section.findings.map(text => element('p', {text}))));
    if (section.best.length) part('Kernels', ladder(section), kernelTable(section));
    if (timed.length) part('Configurations', everyTime(section, rows, timed));
    part('Failures', failures(rows));
    const kernels = data.kernels.map((name, k) => [String(k), name]).filter(([k]) => indices(rows).some(i => rows.kernel[i] === Number(k)));
    const most = Math.max(0, kernels.findIndex(([, name]) => section.best.length && name === section.best[0].kernel));
    const chosen = element('select', {}, ...kernels.map(([value, text], n) => element('option', {value, text, selected: n === most ? '' : null})));
    const ofKernel = element('div');
    const fillKernel = () => {
      const kernel = Number(chosen.value);
      charts.filter(one => ofKernel.contains(one.canvas)).forEach(one => {
        if (one.drawn) one.drawn.destroy();
        charts.splice(charts.indexOf(one), 1);
      });
      ofKernel.replaceChildren(...[byValue(rows, timed, kernel), heatMap(rows, kernel), parallel(rows, timed, kernel),
        failuresByValue(rows, kernel)].filter(node => node));
    };
    part('Parameters', kernels.length > 1 ? element('div', {class: 'controls'}, element('label', {}, 'Kernel', chosen)) : null, ofKernel);
    fillKernel();
    chosen.addEventListener('change', () => { fillKernel(); if (hasCharts) draw(); });
    part('Resources', resources(rows, timed));
    part('Limits of the device', roofline(section, rows, timed));
    part('Search', convergence(section));
    part('Finals', finalists(rows, timed));
    part('Where it comes from', table('Device', [{title: 'property'}, {title: 'value'}],
      Object.entries(section.device).map(([name, value]) => [name.replaceAll('_', ' '), String(value)])),
    table('Runs', ['run', 'started (UTC)', 'device', 'compiler', 'strategy', 'seed', 'results', 'outcome'].map(title => ({title})),
      data.run_list.map(run => [run.run.slice(0, 8), new Date(run.started_unix * 1000).toISOString().slice(0, 19).replace('T', ' '),
        run.device, run.compiler, run.strategy, run.seed, run.results, run.outcome])),
    element('p', {class: 'controls'},
      element('button', {type: 'button', text: 'Save these results as CSV', onclick: () => download('results.csv', 'text/csv', csv(section))}),
      element('button', {type: 'button', text: 'Save everything as JSON',
        onclick: () => download('report.json', 'application/json', JSON.stringify(data))})));
    if (hasCharts) draw();
    document.documentElement.dataset.drawn = String(charts.filter(one => one.drawn).length);
  };

  const side = devicesSideBySide();
  if (side) report.append(side);
  const select = element('select', {onchange: event => show(Number(event.target.value))}, ...data.sections.map((section, n) =>
    element('option', {value: String(n), text: `${section.device_label}: ${section.problem}`})));
  report.append(element('h2', {text: data.sections.length === 1 ? `${data.sections[0].device_label}: ${data.sections[0].problem}` : 'One device, one problem'}));
  if (data.sections.length > 1) report.append(element('div', {class: 'controls'}, element('label', {}, 'Device and problem', select)));
  report.append(body);
  dark.addEventListener('change', () => { if (hasCharts) draw(); });
  show(0);
})();
