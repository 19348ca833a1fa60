/** The baseline: a bare Express 5 route that sends the bytes it was given (BODY_FILE) on PORT. */
import { readFileSync } from 'node:fs';
import express from 'express';
import { stopWhenStdinEnds } from './stdin.ts';

const text = readFileSync(process.env.BODY_FILE ?? '', 'utf8');
const app = express();
app.get('/v1/markets', (_request, response) => {
  response.type('application/json').send(text);
});
app.listen(Number(process.env.PORT), '127.0.0.1');
stopWhenStdinEnds();
