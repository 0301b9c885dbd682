/*
 * Goal: the packaged rules and the dashboard name only metrics that exist, with labels that they
 * have.
 * Method: every name in an expression is looked up in the generated reference, which another test
 * compares with what a member registers, and in the defaults of the metrics library.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Registry, collectDefaultMetrics } from 'prom-client'
import { dashboardQueries, packagedRules } from '../support/fixtures/monitoring-files.ts'
import { root } from './markdown.ts'

const row = /^\| `(\w+)` +\| (\w+) +\| (.*?) +\|/gm

/** Labels by series; those of the target are added by Prometheus. */
async function series(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, ReadonlySet<string>>([['up', new Set(targetLabels)]])
  const reference = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8')
  for (const [, name = '', type, labels = ''] of reference.matchAll(row)) {
    const own = new Set([...targetLabels, ...[...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)])
    if (type !== 'histogram') found.set(name, own)
    else for (const part of ['bucket', 'sum', 'count']) found.set(`${name}_${part}`, new Set([...own, 'le']))
  }
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const { name } of await register.getMetricsAsJSON()) found.set(name, new Set(targetLabels))
  for (const { name, kind } of packagedRules()) if (kind === 'record') found.set(name, new Set())
  return found
}

const targetLabels = ['job', 'instance']

/** Returns the series in an expression: names that begin like a metric, with their matchers. */
function seriesIn(expr: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const pattern =
    /(?<![\w:"$])([a-z_]*:[\w:]+|up|(?:orch|apiserver|kubernetes|process|nodejs)_\w+)(?:\{([^}]*)\})?/g
  return [...expr.matchAll(pattern)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label),
  }))
}

const expressions = [
  ...packagedRules().map(({ name, expr }) => ({ of: name, expr })),
  ...dashboardQueries().map(({ panel, expr }) => ({ of: `panel ${panel}`, expr })),
]

void test('every metric and label in rules and dashboard exists', async () => {
  const known = await series()
  assert.ok(
    known.size > 100 && expressions.length > 40,
    `${known.size} series, ${expressions.length} expressions`,
  )
  const missing = expressions.flatMap(({ of, expr }) => {
    const named = seriesIn(expr)
    if (named.length === 0) return [`${of}: no metric`]
    return named.flatMap(({ name, labels }) => {
      const has = known.get(name)
      if (has === undefined) return [`${of}: ${name}`]
      return labels.filter((label) => !has.has(label)).map((label) => `${of}: ${name} has no ${label}`)
    })
  })
  assert.deepEqual(missing, [])
})

void test('the check of names finds a metric and a label that do not exist', () => {
  const found = seriesIn('rate(orch_made_up_total{job="a", kind!="b"}[5m]) / a:b:c > up')
  assert.deepEqual(found, [
    { name: 'orch_made_up_total', labels: ['job', 'kind'] },
    { name: 'a:b:c', labels: [] },
    { name: 'up', labels: [] },
  ])
})

void test('names of alerts and panels are unique', () => {
  const names = packagedRules().map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
})
