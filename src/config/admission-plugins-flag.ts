import { ConfigError } from './errors.ts'
import { custom } from './flag.ts'
import type { Flag } from './flag.ts'
import { nearest } from './nearest.ts'

/**
 * The admission plugins, under upstream's names and in upstream's order, and whether each is
 * enabled by default.
 *
 * @source upstream `pkg/kubeapiserver/options/plugins.go`, release 1.24
 */
const isOnByDefault = {
  AlwaysAdmit: false,
  NamespaceLifecycle: true,
  NamespaceExists: false,
  LimitRanger: true,
  ServiceAccount: true,
  NodeRestriction: false,
  TaintNodesByCondition: true,
  AlwaysPullImages: false,
  PodSecurity: true,
  Priority: true,
  DefaultTolerationSeconds: true,
  EventRateLimit: false,
  ExtendedResourceToleration: false,
  DefaultStorageClass: true,
  StorageObjectInUseProtection: true,
  OwnerReferencesPermissionEnforcement: false,
  PersistentVolumeClaimResize: true,
  RuntimeClass: true,
  CertificateApproval: true,
  CertificateSigning: true,
  CertificateSubjectRestriction: true,
  DefaultIngressClass: true,
  MutatingAdmissionWebhook: true,
  ValidatingAdmissionWebhook: true,
  ResourceQuota: true,
  AlwaysDeny: false,
} as const

export type AdmissionPluginName = keyof typeof isOnByDefault

export const ADMISSION_PLUGINS = Object.keys(isOnByDefault) as readonly AdmissionPluginName[]

export const DEFAULT_ADMISSION_PLUGINS: readonly AdmissionPluginName[] = ADMISSION_PLUGINS.filter(
  (name) => isOnByDefault[name],
)

/** Plugins of upstream that this server does not have. None of them is on by default. */
const ABSENT_PLUGINS: readonly string[] = [
  ...['NamespaceAutoProvision', 'SecurityContextDeny', 'LimitPodHardAntiAffinityTopology'],
  ...['ImagePolicyWebhook', 'PodSecurityPolicy', 'PodNodeSelector', 'PodTolerationRestriction'],
  ...['PersistentVolumeLabel', 'DenyServiceExternalIPs'],
]

/** The flags that select admission plugins. */
export const admissionPluginFlags = {
  'enable-admission-plugins': pluginsFlag(
    'Admission plugins to run in addition to those that run by default, the same on every member: ' +
      `${DEFAULT_ADMISSION_PLUGINS.join(', ')}. The order given does not matter. Others: ` +
      `${ADMISSION_PLUGINS.filter((name) => !isOnByDefault[name]).join(', ')}.`,
    false,
  ),
  'disable-admission-plugins': pluginsFlag(
    'Admission plugins not to run, although they run by default; the same on every member.',
    true,
  ),
} as const

type PluginFlags = {
  readonly 'enable-admission-plugins': ReadonlySet<AdmissionPluginName>
  readonly 'disable-admission-plugins': ReadonlySet<AdmissionPluginName>
}

/** Returns the plugins that the flags enable, in the order in which they run. */
export function enabledPlugins(config: PluginFlags): readonly AdmissionPluginName[] {
  const more = config['enable-admission-plugins']
  const less = config['disable-admission-plugins']
  return ADMISSION_PLUGINS.filter((name) => more.has(name) || (isOnByDefault[name] && !less.has(name)))
}

/** @param wrong throws the error for a combination that is refused, as upstream */
export function checkAdmissionPlugins(config: PluginFlags, wrong: (message: string) => never): void {
  const less = config['disable-admission-plugins']
  const both = [...config['enable-admission-plugins']].filter((name) => less.has(name))
  if (both.length === 0) return
  wrong(
    `--enable-admission-plugins and --disable-admission-plugins both name ${both.join(', ')}: omit one of them`,
  )
}

function pluginsFlag(help: string, allowsAbsent: boolean): Flag<ReadonlySet<AdmissionPluginName>> {
  return custom<ReadonlySet<AdmissionPluginName>>({
    fallback: new Set(),
    placeholder: 'NAME,…',
    help,
    parse: (values) => {
      const given = values
        .flatMap((value) => value.split(','))
        .map((name) => name.trim())
        .filter((name) => name !== '')
      // Plugins that this server lacks are disabled already.
      const named = given.filter((name) => !(allowsAbsent && ABSENT_PLUGINS.includes(name)))
      const unknown = named.find((name) => !isPlugin(name))
      if (unknown !== undefined) throw new ConfigError(refusalOf(unknown))
      return new Set(named.filter(isPlugin))
    },
  })
}

function isPlugin(name: string): name is AdmissionPluginName {
  return Object.hasOwn(isOnByDefault, name)
}

function refusalOf(name: string): string {
  const all = `the plugins are ${ADMISSION_PLUGINS.join(', ')}`
  if (ABSENT_PLUGINS.includes(name)) return `names ${name}, which this server does not have: ${all}`
  const near = nearest(name, ADMISSION_PLUGINS)
  const hint = near === null ? '' : `the nearest is ${near}; `
  return `has no plugin ${JSON.stringify(name)}: ${hint}${all}`
}
