// What one writes in Node for GET /changes?since=N: a change log filled by triggers, better-sqlite3, JSON.stringify.
// usage: node node_changes.cjs DATABASE PORT   (it makes change_log and its triggers' entries itself, from `notes`)
const http = require('node:http');
const Database = require('better-sqlite3');
const [file, port] = process.argv.slice(2);
const db = new Database(file);
db.pragma('journal_mode = WAL');
db.exec(`CREATE TABLE IF NOT EXISTS change_log(seq INTEGER PRIMARY KEY, op TEXT, id INTEGER);
         INSERT INTO change_log(op, id) SELECT 'update', id FROM notes`);
const since = db.prepare(`SELECT c.seq AS stamp, c.op, c.id AS key, n.* FROM change_log AS c LEFT JOIN notes AS n ON n.id = c.id
                          WHERE c.seq > ? ORDER BY c.seq`);
const head = db.prepare('SELECT coalesce(max(seq), 0) AS head FROM change_log');
http.createServer((asked, answer) => {
    const url = new URL(asked.url, 'http://localhost');
    const from = Number(url.searchParams.get('since'));
    const changes = since.all(from).map(({ stamp, op, key, ...row }) => ({ table: 'notes', op, stamp, key: { id: key }, row }));
    const body = JSON.stringify({ head: head.get().head, more: false, changes });
    answer.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store', 'content-length': Buffer.byteLength(body) });
    answer.end(body);
}).listen(Number(port), '127.0.0.1', () => console.log('listening'));
