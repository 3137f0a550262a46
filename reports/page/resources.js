// Shared memory, registers, occupancy: against time, or where nothing was timed against each other.
const resources = (section, rows, timed) => {
  const needed = section.dry ? 'occupancy' : 'threads';
  const known = (section.dry ? indices(rows) : timed).filter(i => rows[needed][i] !== null && !failedOf(rows, i));
  if (known.length < 2) return null;
  const isKnown = ([name]) => known.some(i => rows[name][i] !== null);
  const against = (name, title, y, yAxis, of, xAxis = axis(title)) => chart(`${of} against ${title}`,
    `Each point is a configuration${section.dry ? ' that fits' : ' that was timed'}.` + sampleText(section, rows),
    scatter(rows, known.filter(i => rows[name][i] !== null), i => rows[name][i], y, xAxis, yAxis,
      i => rows.occupancy[i] === null ? '' : `occupancy ${digits(rows.occupancy[i], 3)} %`), null);
  const axes = [['registers', 'registers per thread'], ['shared', 'shared bytes'], ['threads', 'threads of a block']].filter(isKnown);
  if (section.dry) {
    return element('div', {}, element('div', {class: 'grid'}, ...axes.map(([name, title]) =>
      against(name, title, i => rows.occupancy[i], occupancyAxis(), 'Occupancy'))), fitting(rows, known));
  }
  return element('div', {class: 'grid wide'}, ...[...axes, ...[['occupancy', 'occupancy (%)', occupancyAxis()]].filter(isKnown)].map(([name, title, xAxis]) =>
    against(name, title, i => rows.ms[i], msAxis('time', known.map(k => rows.ms[k])), 'Time', xAxis)));
};

const fitting = (rows, known) => table('What fits', [{title: 'kernel'}, {title: 'configuration'},
  {title: 'threads', number: true}, {title: 'registers', number: true}, {title: 'shared bytes', number: true},
  {title: 'spilled bytes', number: true}, {title: 'occupancy %', number: true}],
[...known].sort((a, b) => rows.occupancy[b] - rows.occupancy[a]).map(i => [data.kernels[rows.kernel[i]], configuration(rows, i),
  rows.threads[i], rows.registers[i], rows.shared[i], rows.spills[i], rows.occupancy[i]]));
