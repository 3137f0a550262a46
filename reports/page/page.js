// Puts the parts together, of the device and problem that are chosen.
const report = document.getElementById('report');
const heading = report.firstElementChild;

const sectionParts = section => {
  const rows = wholeRows(section), timed = timedOf(rows);
  const present = data.kernels.map((name, k) => [String(k), name]).filter((_, k) => rows.kernel.includes(k));
  const tried = ([k]) => rows.kernel.filter(one => one === Number(k)).length;
  const winner = present.find(([, name]) => section.best.length && name === section.best[0].kernel) ??
    present.toSorted((a, b) => tried(b) - tried(a))[0];
  const ofKernel = element('div');
  const fillKernel = () => {
    drop(ofKernel);
    const k = Number(kernel.value), name = data.kernels[k];
    const list = indices(rows).filter(i => rows.kernel[i] === k), fast = list.filter(i => rows.ms[i] !== null);
    const ranked = byImportance(rows, fast, varied(rows, list));
    ofKernel.append(...[byValue(section, rows, fast, ranked), heatMap(rows, list, name, ranked, section.dry),
      parallel(rows, fast, name, ranked), failuresByValue(rows, list)].filter(node => node));
    if (!ofKernel.hasChildNodes() && present.length > 1) ofKernel.append(element('p', {text: `Of ${name} too little was tried to compare values.`}));
  };
  const all = timed.length < 2 ? [] : varied(rows, timed).flatMap(p => valuesOf(rows, timed, p).map(one => ({p, ...one})));
  const everything = [['', `everything (n = ${count(timed.length)})`], ...all.map(({p, number, text, list}) =>
    [`${p} ${number}`, `${data.parameters[p].name} = ${text} (n = ${count(list.length)}, best ${percent(rows.ms[timed[0]] / rows.ms[list[0]])})`])];
  const take = () => {
    const [p, number] = value.value.split(' ').map(Number);
    highlighted = value.value ? {p, number} : null;
  };
  const value = choice('Highlighted', everything, '', () => { take(); drawAnew(charts); });
  take();
  highlight = (p, number) => value.choose(highlighted?.p === p && highlighted.number === number ? '' : `${p} ${number}`);
  const kernel = choice('Kernel', present, winner[0], () => { fillKernel(); draw(); });
  fillKernel();
  const colors = present.length > 1 ? legend(present.map(([k, name]) => [name, Number(k)])) : null;
  const resourceCharts = resources(section, rows, timed);
  return [
    ['', element('div', {class: data.device_list[section.device].kind === 'cpu' ? 'findings cpu' : 'findings', role: 'status'}, ...section.findings.map(text => element('p', {}, ...breakable(text))))],
    ['Kernels', ...(section.best.length ? [ladder(section), kernelTable(section)] : [])],
    ['Why it wins', ...why(section)],
    ['Configurations', all.length ? element('div', {class: 'controls highlight'}, value.label) : null,
      timed.length > 1 ? colors : null,
      timed.length ? everyTime(section, rows, timed) : null],
    ['Failures', failures(section, rows)],
    ['Parameters', present.length > 1 ? element('div', {class: 'controls'}, kernel.label) : null, ofKernel],
    ['Resources', section.dry && resourceCharts ? colors : null, resourceCharts],
    ['Search', convergence(section)],
    ['Finals', finalists(section, rows), besideEachOther(section, rows)],
    ['Energy', energy(section)],
    ['History', ...winnerHistory(section)],
    ['Where it comes from', ...provenance(section)],
  ];
};

// The headings, at the side.
const listContents = () => {
  const headings = [...report.querySelectorAll('h2')];
  headings.forEach((one, n) => { one.id = `part-${n}`; });
  document.getElementById('contents').replaceChildren(...headings.map(one => element('a', {href: `#${one.id}`, text: one.textContent})));
};

const showSection = (body, section) => {
  drop(body);
  for (const [title, ...nodes] of sectionParts(section)) {
    const there = nodes.filter(node => node && (node !== undefined) && (node.childNodes.length > 0));
    if (!there.length) continue;
    if (title) body.append(element('h2', {text: title}));
    body.append(...there);
  }
  listContents();
  draw();
};

const show = () => {
  drop(report);
  report.append(heading);
  if (data.live) report.append(liveNotice());
  if (data.pairs) {
    report.append(...versions().filter(node => node));
    listContents();
    draw();
  } else if (data.sections.length) {
    const side = severalDevices(), overview = [speedOverSize(), problems()].filter(node => node);
    const body = element('div');
    const titles = data.sections.map(section => section.device_label + (section.problem ? `: ${section.problem}` : ''));
    const most = data.sections.reduce((best, one, n) => one.count > data.sections[best].count ? n : best, 0);
    const followed = data.live ? data.sections.findIndex(one => one.device_label.startsWith(data.live.device)) : -1;
    const sorted = titles.map((text, n) => [String(n), text]).sort((a, b) => inNaturalOrder(a[1], b[1]));
    const section = choice('Device and problem', sorted, String(followed < 0 ? most : followed),
      () => showSection(body, data.sections[Number(section.value)]));
    if (constants.size) report.append(element('p', {}, ...breakable(`Everywhere: ${[...constants].map(([name, value]) => `${name}=${value}`).join(',')}`)));
    report.append(...[side, overview.length ? element('h2', {text: 'Problems'}) : null, ...overview, element('h2', {text: titles.length === 1 ? titles[0] : 'One device, one problem'}),
      titles.length > 1 ? element('div', {class: 'controls'}, section.label) : null, body].filter(node => node));
    showSection(body, data.sections[Number(section.value)]);
  }
};
show();
follow();
