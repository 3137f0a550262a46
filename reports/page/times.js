// Every configuration's time, the fastest first.
const sampleText = (section, rows) => rows.ms.length < section.total
  ? ` A sample: ${count(rows.ms.length)} of ${count(section.total)} configurations, drawn by lot, with all finalists, all defaults and the best of each kernel.` : '';

const rounded = value => value === null ? null : {text: digits(value, 3), value};

const everyTime = (section, rows, timed) => {
  if (timed.length < 2) return null;  // A single dot says nothing.
  const failed = section.total - section.timed;
  return chart('Every configuration, sorted by time',
    `${count(timed.length)} that were timed, fastest left${failed ? `; ${count(failed)} failed` : ''}.` + sampleText(section, rows),
    scatter(rows, timed, i => i + 1, i => rows.ms[i], {...axis('rank'), min: 0, max: timed.length}, msAxis('time (logarithmic)', timed.map(i => rows.ms[i]))),
    () => table('Configurations by time', [{title: 'rank', number: true}, {title: 'kernel'}, {title: 'configuration'},
      {title: 'time', number: true}, {title: 'registers', number: true}, {title: 'shared bytes', number: true},
      {title: 'occupancy %', number: true}, {title: 'FLOP per byte', number: true}, {title: 'TFLOP/s', number: true}],
    timed.map(i => [i + 1, data.kernels[rows.kernel[i]], configuration(rows, i), {text: time(rows.ms[i]), value: rows.ms[i]},
      rows.registers[i], rows.shared[i], rows.occupancy[i], rounded(flopPerByte(rows, i)), rounded(tflopPerSecond(rows, i))])));
};
