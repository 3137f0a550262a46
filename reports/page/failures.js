// Failures by reason (which limit rejects most), and by a parameter's value.
const failures = (section, rows) => {
  if (!section.failures.length) return null;
  const sorted = [...section.failures].sort((a, b) => b[2] - a[2]);
  const reasons = [...grouped(sorted, one => one[1])].map(([status, list]) => ({status, list}));
  const kernels = [...new Set(sorted.map(one => one[0]))];
  return chart('Failures by reason', 'How many configurations were rejected by which limit, or failed in which way.',
    () => ({type: 'bar', data: {labels: reasons.map(one => data.statuses[one.status]), datasets: kernels.map(k => ({
      label: short(data.kernels[k]), backgroundColor: color(k), stack: 'all',
      data: reasons.map(one => one.list.filter(of => of[0] === k).reduce((sum, of) => sum + of[2], 0))}))},
    options: {indexAxis: 'y', scales: {x: {...axis('configurations'), stacked: true}, y: {stacked: true}}, plugins: {legend: {display: kernels.length > 1}}}}),
    () => table('Failures by reason', [{title: 'kernel'}, {title: 'status and reason'}, {title: 'configurations', number: true},
      {title: 'for example'}, {title: 'detail'}], sorted.map(([kernel, status, n, i]) => [data.kernels[kernel],
      data.statuses[status], n, i === null ? '' : configuration(rows, i), i === null ? '' : data.details[rows.detail[i]]])),
    reasons.length);
};

const failuresByValue = (rows, list) => {
  if (!list.some(i => failedOf(rows, i))) return null;
  const lines = varied(rows, list).flatMap(p => valuesOf(rows, list, p).map(({text, list: its}) => {
    const failed = its.filter(i => failedOf(rows, i)).length;
    return [data.parameters[p].name, {text, value: numeric(text)}, its.length, failed, {text: percent(failed / its.length), value: failed / its.length}];
  }));
  return lines.length ? table('Failures by parameter value', [{title: 'parameter'}, {title: 'value'},
    {title: 'tried', number: true}, {title: 'failed', number: true}, {title: 'share', number: true}], lines.sort((a, b) => b[4].value - a[4].value), 30) : null;
};
