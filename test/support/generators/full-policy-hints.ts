import type { Json } from '../../../src/api/json.ts'
import type { Hint, Hints } from './hint.ts'

/** Like `full-object-hints.ts`, for PodSecurityPolicies. */

const one =
  (value: Json): Hint =>
  () =>
    value

const of = 'policy.v1beta1.'
const spec = `${of}PodSecurityPolicySpec.`

export const securityPolicyHints: Hints = {
  [`${of}SELinuxStrategyOptions.rule`]: one('MustRunAs'),
  [`${of}RunAsUserStrategyOptions.rule`]: one('MustRunAs'),
  [`${of}RunAsGroupStrategyOptions.rule`]: one('MayRunAs'),
  [`${of}FSGroupStrategyOptions.rule`]: one('MustRunAs'),
  [`${of}SupplementalGroupsStrategyOptions.rule`]: one('MayRunAs'),
  [`${of}IDRange.min`]: one(1000),
  [`${of}IDRange.max`]: one(2000),
  [`${of}RuntimeClassStrategyOptions.allowedRuntimeClassNames`]: one(['gvisor', 'kata']),
  [`${of}RuntimeClassStrategyOptions.defaultRuntimeClassName`]: one('kata'),
  // Alpha in release 1.24, and dropped.
  [`${spec}allowedProcMountTypes`]: () => undefined,
  [`${spec}volumes`]: one(['configMap', 'secret']),
  [`${spec}defaultAddCapabilities`]: one(['NET_ADMIN']),
  [`${spec}requiredDropCapabilities`]: one(['KILL']),
  [`${spec}allowedCapabilities`]: one(['NET_ADMIN', 'SYS_TIME']),
  [`${spec}allowPrivilegeEscalation`]: one(true),
  [`${spec}allowedUnsafeSysctls`]: one(['kernel.shm*']),
  [`${spec}forbiddenSysctls`]: one(['net.core.somaxconn']),
}
