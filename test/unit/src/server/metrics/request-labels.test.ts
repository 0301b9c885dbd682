/*
 * Goal: requests are counted under the labels of upstream, and no request creates a value of a
 * label.
 * Method: request lines and content types, next to the labels that release 1.24 gives them.
 */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { limits } from '../../../../../src/config/limits.ts'
import { Call } from '../../../../../src/server/calls/call.ts'
import { labelsOf } from '../../../../../src/server/metrics/request-labels.ts'
import { requestInfo } from '../../../../../src/server/http/request-info.ts'
import { RequestMetrics } from '../../../../../src/server/metrics/request-metrics.ts'
import { metricsText } from '../../../../../src/server/routes/metrics.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'

const clock = new ManualClock()
const known = { has: (_group: string, _version: string, resource: string) => resource === 'pods' }

function call(method: string, target: string, contentType = ''): Call {
  const raw = new IncomingMessage(new Socket())
  raw.headers['content-type'] = contentType
  const info = requestInfo(method, target)
  return new Call({
    ...{ id: 'a', member: 'n1', info, clock, allowedMs: 1000 },
    ...{ raw, reply: new ServerResponse(raw) },
  })
}

const one = '/api/v1/namespaces/a/pods/b'
const all = '/api/v1/namespaces/a/pods'

/**
 * Method, target and content type; then the labels: verb, dry run, resource, subresource and scope.
 */
const cases: readonly (readonly [string, string, string, string])[] = [
  ['GET', one, '', 'GET||pods||resource'],
  ['HEAD', one, '', 'GET||pods||resource'],
  ['GET', all, '', 'LIST||pods||namespace'],
  ['GET', '/api/v1/pods', '', 'LIST||pods||cluster'],
  ['GET', `${all}?watch=1`, '', 'WATCH||pods||namespace'],
  ['POST', all, '', 'POST||pods||resource'],
  ['PUT', `${one}/status?dryRun=All`, '', 'PUT|All|pods|status|resource'],
  ['PATCH', one, 'application/merge-patch+json', 'PATCH||pods||resource'],
  ['PATCH', one, 'application/apply-patch+yaml', 'APPLY||pods||resource'],
  ['DELETE', one, '', 'DELETE||pods||resource'],
  ['DELETE', all, '', 'DELETE||pods||namespace'],
  ['DELETE', `${one}?dryRun=Made-up`, '', 'DELETE|invalid|pods||resource'],
  ['GET', `${one}?dryRun=All`, '', 'GET||pods||resource'],
  ['GET', `${one}/log?follow=true`, '', 'CONNECT||pods|log|resource'],
  ['POST', `${one}/exec?dryRun=All`, '', 'CONNECT||pods|exec|resource'],
  ['DELETE', `${one}/proxy/x`, '', 'CONNECT||pods|proxy|resource'],
  ['GET', `${one}/made-up`, '', 'GET||pods||resource'],
  ['GET', '/api/v1/made-ups/b', '', 'GET||||'],
  ['MADEUP', one, '', 'other||pods||resource'],
  ['GET', '/readyz', '', 'GET|||/readyz|'],
  ['GET', '/made-up', '', 'GET||||'],
  ['MADEUP', '/made-up', '', 'other||||'],
]

for (const [method, target, contentType, expected] of cases) {
  void test(`${method} ${target} ${contentType} is counted as ${expected}`, () => {
    const labels = labelsOf(call(method, target, contentType), known)
    const { verb, dry_run, resource, subresource, scope } = labels
    assert.equal([verb, dry_run, resource, subresource, scope].join('|'), expected)
    assert.equal(labels.component, 'apiserver')
  })
}

void test('a request is counted once by code, timed, and its bytes are counted if it is a read', async () => {
  const registry = new Registry()
  const metrics = new RequestMetrics(registry, known, () => ({
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }))
  const read = call('GET', one)
  read.sentBytes = 5000
  metrics.observe(read, read.startedMs + 300)
  const write = call('POST', `${all}?dryRun=All`)
  metrics.observe(write, write.startedMs + 300)
  const text = await registry.metrics()
  const pod = 'group="",version="v1",resource="pods",subresource="",scope="resource",component="apiserver"'
  const has = (line: string): void => assert.ok(text.includes(`${line}\n`), `${line} in\n${text}`)
  has(`apiserver_request_total{verb="GET",dry_run="",${pod},code="499"} 1`)
  has(`apiserver_request_total{verb="POST",dry_run="All",${pod},code="499"} 1`)
  has(`apiserver_request_duration_seconds_bucket{le="0.2",verb="GET",dry_run="",${pod}} 0`)
  has(`apiserver_request_duration_seconds_bucket{le="0.4",verb="GET",dry_run="",${pod}} 1`)
  has(`apiserver_response_sizes_bucket{le="1000",verb="GET",${pod}} 0`)
  has(`apiserver_response_sizes_bucket{le="10000",verb="GET",${pod}} 1`)
  assert.doesNotMatch(text, /apiserver_response_sizes.*POST/)
})

void test('the SLO durations of requests with and without dry run are one series with the bounds of upstream', async () => {
  const registry = new Registry()
  const metrics = new RequestMetrics(registry, known, () => ({
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }))
  for (const [target, ms] of [
    [all, 15.625],
    [`${all}?dryRun=All`, 250],
    [all, 70_000],
  ] as const) {
    const write = call('POST', target)
    metrics.observe(write, write.startedMs + ms)
  }
  const pod = 'group="",version="v1",resource="pods",subresource="",scope="resource",component="apiserver"'
  const labels = `verb="POST",${pod}`
  const lines = (await registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_slo_duration_seconds'))
  const name = 'apiserver_request_slo_duration_seconds'
  assert.deepEqual(lines.slice(0, 1), [`${name}_bucket{le="0.05",${labels}} 1`])
  assert.ok(lines.includes(`${name}_bucket{le="0.2",${labels}} 1`))
  assert.ok(lines.includes(`${name}_bucket{le="0.4",${labels}} 2`))
  assert.ok(lines.includes(`${name}_bucket{le="60",${labels}} 2`))
  assert.ok(lines.includes(`${name}_bucket{le="+Inf",${labels}} 3`))
  assert.ok(lines.includes(`${name}_sum{${labels}} 70.265625`))
  assert.equal(lines.length, 21 + 1 + 2, lines.join('\n'))
})

void test('a watch is long-running until it has ended', async () => {
  const registry = new Registry()
  const metrics = new RequestMetrics(registry, known, () => ({
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }))
  const end = metrics.watching(call('GET', '/api/v1/pods?watch=1'))
  const open = async (): Promise<string | undefined> =>
    /^apiserver_longrunning_requests\{verb="WATCH",.*scope="cluster".*\} (\d)$/m.exec(
      await registry.metrics(),
    )?.[1]
  assert.equal(await open(), '1')
  end()
  assert.equal(await open(), '0')
})

void test('beyond the limit of series a request counts as one to an unknown resource', async () => {
  const registry = new Registry()
  const metrics = new RequestMetrics(registry, { has: () => true }, () => ({
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }))
  const observe = (resource: string): void => metrics.observe(call('GET', `/api/v1/${resource}/a`), 0)
  for (let at = 0; at < limits.requestSeriesMax; at++) observe(`r${at}`)
  for (const resource of ['more', 'yet-more', 'r0']) observe(resource)
  const text = await registry.metrics()
  const counted = (resource: string): string | undefined =>
    new RegExp(`^apiserver_request_total\\{.*resource="${resource}".*\\} (\\d+)$`, 'm').exec(text)?.[1]
  assert.deepEqual(['r0', 'r1', '', 'more'].map(counted), ['2', '1', '2', undefined])
})

void test('a scrape yields to other work between two metrics, and its result is that of the registry', async () => {
  const registry = new Registry()
  const metrics = new RequestMetrics(registry, known, () => ({
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }))
  metrics.observe(call('GET', one), 0)
  let turns = 0
  let isDone = false
  const work = (): void => {
    turns++
    if (!isDone) setImmediate(work)
  }
  setImmediate(work)
  const text = await metricsText(registry)
  isDone = true
  assert.equal(text, await registry.metrics())
  assert.ok(turns >= registry.getMetricsAsArray().length - 1, `${turns} turns`)
})
