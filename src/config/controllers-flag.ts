import { ConfigError } from './errors.ts'
import { custom } from './flag.ts'
import type { Flag } from './flag.ts'

/**
 * The controllers that `--controllers` switches, under upstream's names. Upstream's API server runs
 * the two that repair the claims of Services, without a switch: their names are from its Events.
 */
export const CONTROLLERS = [
  'bootstrapsigner',
  'clusterrole-aggregation',
  'csrapproving',
  'csrcleaner',
  'csrsigning',
  'ephemeral-volume',
  'garbagecollector',
  'ipallocator-repair-controller',
  'namespace',
  'podgc',
  'portallocator-repair-controller',
  'pv-protection',
  'pvc-protection',
  'resourcequota',
  'root-ca-cert-publisher',
  'serviceaccount',
  'serviceaccount-token',
  'tokencleaner',
] as const

export type ControllerName = (typeof CONTROLLERS)[number]

/** Controllers that `*` leaves out, as upstream: they run only where they are named. */
export const CONTROLLERS_BY_NAME: readonly ControllerName[] = ['bootstrapsigner', 'tokencleaner']

/**
 * `--controllers=*,-namespace`: the controllers that are enabled.
 *
 * @source upstream `staging/src/k8s.io/controller-manager/app/helper.go`: IsControllerEnabled
 */
export function controllersFlag(): Flag<ReadonlySet<ControllerName>> {
  return custom<ReadonlySet<ControllerName>>({
    fallback: parse(['*']),
    placeholder: 'NAME,…',
    help:
      'Controllers that this member runs while it leads, so use the same value on all members. * enables all, NAME ' +
      'enables one, -NAME disables one; of entries for the same name the first one counts. Unset: *. Names: ' +
      `${CONTROLLERS.join(', ')}. * leaves out ${CONTROLLERS_BY_NAME.join(' and ')}.`,
    parse,
  })
}

function parse(values: readonly string[]): ReadonlySet<ControllerName> {
  const entries = values
    .flatMap((value) => value.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  const unknown = entries.find((entry) => entry !== '*' && !isController(entry.replace(/^-/, '')))
  if (unknown !== undefined)
    throw new ConfigError(
      `accepts *, NAME and -NAME, not ${JSON.stringify(unknown)}; names: ${CONTROLLERS.join(', ')}`,
    )
  return new Set(CONTROLLERS.filter((name) => isEnabled(name, entries)))
}

/** A controller without an entry is enabled by `*`, except `CONTROLLERS_BY_NAME`. */
function isEnabled(name: ControllerName, entries: readonly string[]): boolean {
  const own = entries.find((entry) => entry === name || entry === `-${name}`)
  if (own !== undefined) return own === name
  return entries.includes('*') && !CONTROLLERS_BY_NAME.includes(name)
}

function isController(name: string): name is ControllerName {
  return CONTROLLERS.some((known) => known === name)
}
