import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'

type Named = { readonly name: string }
type Kubeconfig = {
  readonly clusters: readonly (Named & { readonly cluster: Readonly<Record<string, string>> })[]
  readonly contexts: readonly (Named & { readonly context: Readonly<Record<string, string>> })[]
}

/**
 * Moves the named context to the front and makes it the current one; creates it if it does not
 * exist.
 */
export function pointTo(kubeconfig: string, name: string, url: string): void {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
  const [cluster, context] = [config.clusters[0], config.contexts[0]]
  assert.ok(cluster !== undefined && context !== undefined)
  const others = <Item extends Named>(items: readonly Item[]): readonly Item[] =>
    items.filter((item) => item.name !== name)
  const changed = {
    ...config,
    clusters: [{ name, cluster: { ...cluster.cluster, server: url } }, ...others(config.clusters)],
    contexts: [{ name, context: { ...context.context, cluster: name } }, ...others(config.contexts)],
    'current-context': name,
  }
  writeFileSync(kubeconfig, stringify(changed))
}
