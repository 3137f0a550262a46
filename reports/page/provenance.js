// Where the numbers come from, how to measure them again, and all of them to take away.
const download = (name, type, text) => {
  const link = element('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
};

const csv = section => {
  const rows = wholeRows(section);
  const quoted = cell => {
    const text = String(cell ?? '');
    // A spreadsheet takes what begins like this for a formula.
    return '"' + (/^[=+\-@\t\r]/.test(text) && !isFinite(text) ? "'" : '') + text.replaceAll('"', '""') + '"';
  };
  const header = ['kernel', ...data.parameters.map(p => p.name), 'status', 'ms', 'registers', 'shared_bytes', 'occupancy_percent', 'detail'];
  const lines = indices(rows).map(i => [data.kernels[rows.kernel[i]], ...data.parameters.map((_, p) => valueText(rows, p, i)),
    data.statuses[rows.status[i]], rows.ms[i], rows.registers[i], rows.shared[i], rows.occupancy[i], data.details[rows.detail[i]]]);
  return [header, ...lines].map(line => line.map(quoted).join(',')).join('\r\n') + '\r\n';
};

// A device that another tuner named has no more known properties.
const deviceProperties = device => Object.entries(device).filter(([name, value]) => value !== null && (device.kind === 'cpu' || device.sm_count > 0 || name === 'name'))
  .map(([name, value]) => [name.replaceAll('_', ' '), String(value)]).filter(([, text]) => !/^[0.,]*$/.test(text));

const moment = unix => unix === null ? '' : new Date(unix * 1000).toISOString().slice(0, 19).replace('T', ' ');

const provenance = section => {
  const runs = [...data.run_list].sort((a, b) => b.results - a.results);
  return [
    section.commands.length ? element('p', {text: 'Measured again by:'}) : null,
    section.commands.length ? element('pre', {}, element('code', {}, ...section.commands.join('\n').split(/(--[a-z-]+)/).flatMap((part, n) =>
      n % 2 ? [element('span', {class: 'option', text: part})] : breakable(part)))) : null,
    element('details', {}, element('summary', {text: 'Properties of the device'}), table('Device', [{title: 'property'}, {title: 'value'}], deviceProperties(data.device_list[section.device]))),
    runs.length ? table('Runs', ['run', 'started (UTC)', 'device', 'compiler', 'strategy', 'seed', 'results', 'outcome', 'imported from']
      .map(title => ({title})), runs.map(run => [run.run.slice(0, 8), moment(run.started_unix),
      run.device, run.compiler, run.strategy, run.seed, run.results, run.outcome, run.imported_from.split('/').pop()]), 20) : null,
    element('p', {class: 'controls'},
      element('button', {type: 'button', text: 'Save these results as CSV', onclick: () => download('results.csv', 'text/csv', csv(section))}),
      element('button', {type: 'button', text: 'Save everything as JSON',
        onclick: () => download('report.json', 'application/json', JSON.stringify(data))})),
  ];
};
