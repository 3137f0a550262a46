// Tables that sort by the buttons in their headings.
// columns: {title, number}; cells: text, or {text, value} where they sort by another value.
const cellText = cell => cell !== null && typeof cell === 'object' ? cell.text : cell ?? '';
const cellValue = cell => cell !== null && typeof cell === 'object' ? cell.value : cell;

// A long word may go on in the next line behind its commas.
const breakable = text => String(text).split(/(?<=,)/).flatMap((part, n) => n ? [element('wbr'), part] : [part]);

const inOrderOf = (rows, i, down) => [...rows].sort((a, b) => {
  const [x, y] = [cellValue(a[i]), cellValue(b[i])];
  if (x === y) return 0;
  if (x === null || x === '') return 1;
  if (y === null || y === '') return -1;
  return (x < y ? -1 : 1) * (down ? -1 : 1);
});

// Empty columns are left out; what is the same in all rows is said once, above.
const table = (caption, allColumns, allRows, limit = 200) => {
  const filled = allColumns.map((_, i) => i).filter(i => allRows.some(row => cellText(row[i]) !== ''));
  const isSame = i => i > 0 && !allColumns[i].number && allRows.length > 1 && allRows.every(row => cellText(row[i]) === cellText(allRows[0][i]));
  const kept = filled.filter(i => !isSame(i));
  const same = filled.filter(isSame).map(i => `; ${allColumns[i].title}: ${cellText(allRows[0][i])}`).join('');
  const columns = kept.map(i => allColumns[i]), rows = allRows.map(row => kept.map(i => row[i]));
  const body = element('tbody');
  const fill = shown => body.replaceChildren(...shown.slice(0, limit).map(row =>
    element('tr', {}, ...row.map((cell, i) => element('td', {
      class: columns[i].number ? 'number' : columns[i].title === 'configuration' ? 'long' : null, 'data-title': columns[i].title,
    }, ...breakable(cellText(cell)))))));
  const headers = columns.map((column, i) => {
    const header = element('th', {scope: 'col', class: column.number ? 'number' : null});
    header.append(element('button', {
      type: 'button', text: column.title,
      onclick: () => {
        const down = header.getAttribute('aria-sort') === 'ascending';
        headers.forEach(other => other.removeAttribute('aria-sort'));
        header.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        fill(inOrderOf(rows, i, down));
      },
    }));
    return header;
  });
  fill(rows);
  const note = rows.length > limit ? ` (${count(limit)} of ${count(rows.length)}; sorting shows others)` : '';
  return element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
    element('table', {class: 'lines'}, element('caption', {}, ...breakable(caption + same + note)),
      element('thead', {}, element('tr', {}, ...headers)), body));
};

// Cells are {text, title, share} (colored by the share), {gap, title}, or null: nothing is known.
const colored = (caption, corner, columns, rows) =>
  element('table', {}, element('caption', {text: caption}),
    element('thead', {}, element('tr', {}, element('th', {scope: 'col', text: corner}),
      ...columns.map(text => element('th', {scope: 'col', class: 'cell', text})))),
    element('tbody', {}, ...rows.map(([name, cells]) => element('tr', {}, element('th', {scope: 'row', text: name}),
      ...cells.map(cell => {
        if (!cell) return element('td', {class: 'cell gap', text: '·', title: 'not measured'});
        if (cell.gap) return element('td', {class: 'cell gap', text: cell.gap, title: cell.title});
        const td = element('td', {class: 'cell', text: cell.text, title: cell.title});
        Object.assign(td.style, heat(cell.share));
        return td;
      })))));

// Viridis (Smith and van der Walt) at five places, between them linear; text as contrast asks.
const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const heat = share => {
  const x = Math.max(0, Math.min(1, share)) * 4, n = Math.min(3, Math.floor(x));
  const rgb = stops[n].map((c, j) => Math.round(c + (x - n) * (stops[n + 1][j] - c)));
  const light = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return {background: `rgb(${rgb})`, color: 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? '#fff' : '#000'};
};
