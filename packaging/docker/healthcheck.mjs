/*
 * Exits with 0 while the member in this container makes progress: a failure of /livez means that
 * only a restart helps. This program does not verify the certificate, since it sends nothing secret
 * and only connects to its own container.
 *
 *   node healthcheck.mjs PORT
 */
import { get } from 'node:https'

const port = Number(process.argv[2])
if (!Number.isInteger(port) || port < 1 || port > 65535) {
  console.error('usage: node healthcheck.mjs PORT')
  process.exit(2)
}
const request = get({ host: '127.0.0.1', port, path: '/livez', rejectUnauthorized: false, timeout: 4000 })
request.on('response', (response) => {
  response.resume()
  if (response.statusCode !== 200) console.error(`/livez: ${response.statusCode}`)
  process.exitCode = response.statusCode === 200 ? 0 : 1
  response.on('end', () => request.destroy())
})
request.on('timeout', () => request.destroy(new Error('no response within 4 s')))
request.on('error', (error) => {
  if (process.exitCode !== undefined) return
  console.error(`/livez: ${error.message}`)
  process.exitCode = 1
})
