import {
  readAdmissionConfiguration,
  webhookCredentials,
  webhookKubeconfigs,
} from '../admission/configuration-file.ts'
import type { CredentialsFor } from '../outward/webhook-clients.ts'
import type { JsonObject } from '../api/json.ts'
import type { AdmissionPluginName } from '../config/admission-plugins-flag.ts'
import { StartError } from '../config/start-error.ts'
import type { MemberContext } from './context.ts'

/** The plugins that the file may configure. */
const PLUGINS: readonly AdmissionPluginName[] = [
  'EventRateLimit',
  'MutatingAdmissionWebhook',
  'PodSecurity',
  'ResourceQuota',
  'ValidatingAdmissionWebhook',
]

export type ConfiguredAdmission = {
  readonly credentials: CredentialsFor
  /** Paths of the kubeconfig files that hold these credentials. */
  readonly kubeconfigs: readonly string[]
  /** Returns the configuration of a plugin. null: the file lacks it. */
  readonly configurationOf: (plugin: AdmissionPluginName) => JsonObject | null
}

/**
 * Reads the file of `--admission-control-config-file`: the credentials for webhooks, and the
 * configuration of other plugins.
 *
 * @throws StartError `usage`
 */
export function configuredAdmission({
  config,
  names,
}: Pick<MemberContext, 'config' | 'names'>): ConfiguredAdmission {
  const flag = 'admission-control-config-file'
  const path = config[flag]
  if (path === '') return { credentials: () => null, kubeconfigs: [], configurationOf: () => null }
  try {
    const configuration = readAdmissionConfiguration(path, names, PLUGINS)
    return {
      credentials: webhookCredentials(configuration, names),
      kubeconfigs: webhookKubeconfigs(configuration, names),
      configurationOf: (plugin) => configuration.get(plugin)?.value ?? null,
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartError('usage', `--${flag}: ${why}`, { cause })
  }
}
