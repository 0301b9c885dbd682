/*
 * Goal: a benchmark counts watches that were resumed, not the attempts.
 * Method: a plain HTTP server that ends the first watch and refuses some attempts to resume it.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { LatencyHistogram } from '../../../bench/tool/latency-histogram.ts'
import { FailureCounts } from '../../../bench/tool/generator/failures.ts'
import { WatchReader } from '../../../bench/tool/generator/watch-reader.ts'
import { noCredentials } from '../../../src/credentials/credentials.ts'
import { systemClock } from '../../../fixtures/system.ts'
import { until } from '../../support/tools/until.ts'

void test('a watch that is resumed after failed attempts counts once', async (t) => {
  const statuses = [200, 503, 503, 200]
  let watching = 0
  const server = createServer((_request, reply) => {
    const status = statuses.shift() ?? 500
    reply.writeHead(status)
    if (status === 200 && watching++ > 0) reply.flushHeaders()
    else reply.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const failures = new FailureCounts()
  const tally = { delays: new LatencyHistogram(), failures, delivered: 0, lost: 0, resumed: 0 }
  const reader = new WatchReader(
    {
      endpoint: {
        ...{ name: 'n1', url, authority: null, serverName: null, insecure: false },
        credentials: noCredentials,
      },
      ...{ namespace: 'ns', clock: systemClock, tally, isSlow: false },
    },
    '1',
  )
  t.after(() => reader.close())
  await reader.open()
  await until('the watch is resumed', () => tally.resumed > 0)
  assert.deepEqual([statuses.length, tally.resumed], [0, 1])
  assert.deepEqual(failures.list(), [{ words: 'watch: HTTP 503', count: 2 }])
})
