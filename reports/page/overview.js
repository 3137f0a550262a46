// Before any single device and problem: how fast each problem is, and what devices have in common.
const inNaturalOrder = (a, b) => a.localeCompare(b, 'en', {numeric: true});

// The best of each device and problem, unless the devices side by side show all of them.
const problems = () => {
  const list = data.sections.filter(one => one.best.length)
    .toSorted((a, b) => inNaturalOrder(a.device_label, b.device_label) || inNaturalOrder(a.problem, b.problem));
  const parts = list.map(one => one.problem.split(','));
  const differing = parts.map(its => its.filter(part => !parts.every(other => other.includes(part))).join(','));
  const everywhere = list.length && parts[0].filter(part => parts.every(other => other.includes(part))).join(',');
  return list.length < 2 || data.devices.length === 1 && data.devices[0].winners.length === list.length ? null : table(`The best of each problem${everywhere ? `; in all: ${everywhere}` : ''}`, [{title: 'device'}, {title: 'problem'}, {title: 'kernel'},
    {title: 'configuration'}, {title: 'time', number: true}, {title: '95 % interval'}, {title: 'n', number: true}, {title: 'rate'},
    {title: 'over its default', number: true}, {title: 'compared with'}, {title: 'from'}],
  list.map((section, n) => {
    const [one] = section.best;
    return [deviceCount() > 1 ? section.device_label : '', differing[n], one.kernel, withoutConstants(Object.entries(one.values)), {text: time(one.ms), value: one.ms},
      intervalText(one), one.n, rateText(one), overDefault(one), one.compared_with, one.from.split('/').pop()];
  }), 500);
};
const deviceCount = () => new Set(data.sections.map(one => one.device_label)).size;

// Bytes that counters saw pass through DRAM; where these were not read, those that the space declares.
const movedBytes = one => one.dram_bytes ?? one.bytes;

// The best speed of each problem against its size, under what clocks and widths allow at each.
const speedOverSize = () => {
  const works = data.sections.every(one => one.best.length === 0 || one.best[0].flops) ? 'flops' : 'bytes';
  const [size, unit, scale] = works === 'flops' ? ['FLOP', 'TFLOP/s', 1e9] : ['bytes that must move', 'GB/s', 1e6];
  const roof = ({flops_per_s: flops, bytes_per_s: bytes}, one) => works === 'bytes' ? bytes / 1e9
    : (movedBytes(one) > 0 ? Math.min(flops, bytes * one.flops / movedBytes(one)) : flops) / 1e12;
  const known = data.sections.filter(one => one.best.length && one.best[0][works] > 0);
  const counted = works === 'flops' ? known.filter(one => one.best[0].dram_bytes).length : 0;
  const byDevice = [...grouped(known, one => one.device_label)];
  if (new Set(known.map(one => one.best[0][works])).size < 2 || byDevice.length > 8) return null;
  const at = section => ({x: section.best[0][works], y: section.best[0][works] / section.best[0].ms / scale, section});
  return element('div', {}, byDevice.length > 1 ? legend(byDevice.map(([name], n) => [name, n])) : null,
    chart('Speed over size', `A dot for the best of each problem (n = ${known.length}); a dash for the roofline at its size, ` +
      `where it is known: of single precision (tensor cores have another)${counted ? `, and of measured DRAM bytes at ${counted}, else of declared bytes` : ''}.`, () => ({type: 'scatter',
      data: {datasets: byDevice.flatMap(([name, list], n) => [{label: name, ...marker(n), pointRadius: 5, data: list.map(at)},
        {label: 'roofline', pointStyle: 'line', pointRadius: 9, borderWidth: 3, borderColor: color(n), backgroundColor: color(n),
          data: list.filter(one => roof(one, one.best[0]) > 0).map(one => ({...at(one), y: roof(one, one.best[0])}))}])},
      options: {scales: {x: axis(size, 'logarithmic'), y: {...axis(unit, 'logarithmic'), suggestedMax: 1.3 * Math.max(...known.map(one => roof(one, one.best[0]) || 0))}},
        plugins: {tooltip: {callbacks: {label: c => [`${c.raw.section.problem}: ${c.dataset.label}`, `${digits(c.raw.y, 3)} ${unit}`]}}}}}), null));
};

// Times as bars, with a line over the interval of each.
const whiskers = list => ({id: 'whiskers', afterDatasetsDraw: ({ctx, scales: {x, y}}) => {
  ctx.save();
  Object.assign(ctx, {strokeStyle: css('--text'), lineWidth: 2});
  list.forEach((one, n) => {
    if (one.low === null) return;
    const [low, high, middle] = [x.getPixelForValue(one.low), x.getPixelForValue(one.high), y.getPixelForValue(n)];
    ctx.beginPath();
    for (const [x0, y0, x1, y1] of [[low, middle, high, middle], [low, middle - 4, low, middle + 4], [high, middle - 4, high, middle + 4]]) {
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
    }
    ctx.stroke();
  });
  ctx.restore();
}});
const timesOf = ({winners}) => {
  const list = winners.toSorted((a, b) => a.ms - b.ms);
  return chart('Time on each device', 'Each at its own best configuration, with the 95 % interval of the median.', () => ({type: 'bar',
    data: {labels: list.map(one => one.device + (one.n === null ? '' : ` (n = ${one.n})`)), datasets: [{label: 'time', data: list.map(one => one.ms), backgroundColor: color(0)}]},
    options: {indexAxis: 'y', scales: {x: {...axis('time'), ticks: {callback: v => v ? time(v, digits) : '0', maxRotation: 0, autoSkipPadding: 10}}, y: {ticks: {autoSkip: false}}},
      plugins: {tooltip: {callbacks: {label: c => `${time(c.raw)} (${intervalText(list[c.dataIndex])})`}}}},
    plugins: [whiskers(list)]}),
  () => table('Time on each device', [{title: 'device'}, {title: 'time', number: true}, {title: '95 % interval'}, {title: 'n', number: true}],
    list.map(one => [one.device, {text: time(one.ms), value: one.ms}, intervalText(one), one.n])), list.length);
};

const mostNumbered = 12;  // Cells of a larger matrix have colors only.
const matrix = one => {
  const isLarge = one.winners.length > mostNumbered;
  const cell = share => share === null ? null : typeof share === 'string' ? {gap: isLarge ? '×' : 'fails', title: share}
    : {text: isLarge ? '' : wholePercent(share), share, title: percent(share)};
  const order = one.winners.map((_, n) => n).sort((a, b) => inNaturalOrder(one.winners[a].device, one.winners[b].device));
  const lines = [...order.map((of, n) => [`${n + 1} ${one.winners[of].device}`, one.shares[of]]), ...one.for_all.map(all => [all.what, all.shares])];
  const grid = colored('What the best of each device keeps on the others, in per cent of their own best, and what one configuration for all ' +
    'does; a dot where it was never measured.', 'best of \\ run on', order.map((_, n) => isLarge && (n + 1) % 5 ? '' : String(n + 1)),
  lines.map(([name, shares]) => [name, order.map(on => cell(shares[on]))]));
  grid.classList.toggle('large', isLarge);
  return element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Portability matrix'}, grid);
};

const forAll = one => table(`One configuration for all ${one.winners.length} devices`, [{title: 'what'}, {title: 'kernel'}, {title: 'configuration'},
  {title: 'keeps at worst', number: true}, {title: 'worst on'}, {title: 'performance portability (harmonic mean)', number: true}, {title: 'tried on all (n)', number: true}],
one.for_all.map(all => [all.what, all.kernel, withoutConstants(Object.entries(all.values)), {text: percent(all.worst), value: all.worst},
  one.winners[all.shares.indexOf(Math.min(...all.shares))].device, {text: percent(all.portability), value: all.portability}, one.on_all]));

const difference = one => {
  const value = (winner, name) => winner.values[name] ?? '';
  const names = [...new Set(one.winners.flatMap(winner => Object.keys(winner.values)))]
    .filter(name => one.winners.some(winner => value(winner, name) !== value(one.winners[0], name)));
  const differs = one.winners.some(winner => winner.kernel !== one.winners[0].kernel);
  if (!differs && !names.length) return element('p', {text: 'The winner is the same on all devices.'});
  return table('Where the winners differ', [{title: 'device'}, ...differs ? [{title: 'kernel'}] : [], ...names.map(title => ({title}))],
    one.winners.toSorted((a, b) => inNaturalOrder(a.device, b.device)).map(winner => [winner.device, ...differs ? [winner.kernel] : [], ...names.map(name => ({text: value(winner, name), value: numeric(value(winner, name))}))]));
};

const effects = one => {
  const names = [...new Set(one.effects.flatMap(line => Object.keys(line.shares)))];
  return names.length ? table('What each parameter alone explains of the variance of log time', [{title: 'device'}, {title: 'n', number: true}, {title: 'configurations'},
    ...names.map(title => ({title, number: true}))], one.effects.map(line => [line.device, line.n, chosen[line.chosen_by] ?? '',
    ...names.map(name => name in line.shares ? {text: percent(line.shares[name]), value: line.shares[name]} : null)])) : null;
};

const severalDevices = () => {
  if (!data.devices.length) return null;
  const list = data.devices.toSorted((a, b) => inNaturalOrder(a.problem, b.problem));
  const body = element('div');
  const fill = () => {
    const one = list[Number(problem.value)];
    drop(body);
    body.append(...[element('div', {class: 'findings'}, element('p', {text: one.answer})), timesOf(one), element('h2', {text: 'Portability'}),
      matrix(one), forAll(one), element('h2', {text: 'Differences'}), difference(one), effects(one)].filter(node => node));
  };
  const problem = choice('Problem', list.map((one, n) => [String(n), one.problem || 'the only one']), '0', () => { fill(); draw(); });
  fill();
  return element('section', {}, element('h2', {text: 'Devices side by side'}), ...list.length > 1 ? [element('div', {class: 'controls'}, problem.label)]
    : [element('h3', {text: list[0].problem})], body);
};
