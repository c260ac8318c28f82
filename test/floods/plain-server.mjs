/** Node's own HTTP/2 server, which answers each call with an empty message at once: what a flood's calls cost before anybody asks what they mean. */
import { createServer } from 'node:http2';

const server = createServer();
server.on('stream', (stream) => {
  stream.on('error', () => {});
  stream.on('data', () => {});
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.end(Buffer.alloc(5));
  });
});
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
