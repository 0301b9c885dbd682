/*
 * Goal: the metric series of custom kinds that come and go stay within the limit.
 * Method: a catalog whose custom kinds are replaced again and again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { limits } from '../../../../../src/config/limits.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { KindSeries } from '../../../../../src/server/metrics/kind-series.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'

const configMaps = definitionsFor(namesOf('orch.io')).filter(({ kind }) => kind === 'ConfigMap')

void test('built-in kinds are always counted by name, custom kinds up to the limit', () => {
  const catalog = new Catalog(configMaps)
  const series = new KindSeries(catalog)
  assert.ok(series.has('', 'v1', 'configmaps'))
  assert.ok(!series.has('', 'v1', 'nothing'))
  let counted = 0
  for (let at = 0; at < limits.customKindSeriesMax + 10; at++) {
    const group = `g${at}.example.com`
    assert.ok(!series.has(group, 'v1', 'tabs'))
    catalog.setCustom([customKind({ group, plural: 'tabs', kind: 'Tab' })])
    if (series.has(group, 'v1', 'tabs')) counted++
  }
  assert.equal(counted, limits.customKindSeriesMax)
  // A kind that has its series keeps it.
  catalog.setCustom([customKind({ group: 'g0.example.com', plural: 'tabs', kind: 'Tab' })])
  assert.ok(series.has('g0.example.com', 'v1', 'tabs'))
  assert.ok(series.has('', 'v1', 'configmaps'))
})
