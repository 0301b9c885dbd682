/** The domain of the API group names that the cluster uses; fixed when the cluster is created. */
export type ApiDomain = 'orch.io' | 'k8s.io'

/** The names that differ between the domains, and the few behaviors that do. */
export type Names = {
  readonly domain: ApiDomain
  /**
   * Returns the name of a group: `storage` gives `storage.orch.io` or `storage.k8s.io`; groups
   * without a domain, such as `apps` and the core group, stay as they are.
   */
  readonly group: (stem: string) => string
  /** The inverse of `group`: `storage.orch.io` gives `storage`; a foreign group stays as it is. */
  readonly groupStem: (group: string) => string
  /**
   * `service-account.name` gives `orch.io/service-account.name` or
   * `kubernetes.io/service-account.name`.
   */
  readonly label: (key: string) => string
  /**
   * (`node`, `unreachable`) gives `node.orch.io/unreachable` or `node.kubernetes.io/unreachable`.
   */
  readonly labelUnder: (prefix: string, key: string) => string
  /**
   * Returns the OpenAPI name of a definition such as `core.v1.ConfigMap`; one that begins with
   * `io.` stays.
   */
  readonly definition: (neutral: string) => string
  readonly systemNamespace: string
  readonly publicNamespace: string
  readonly nodeLeaseNamespace: string
  /**
   * The finalizer in `spec.finalizers` of namespaces; also the name of the Service in the default
   * namespace.
   */
  readonly namespaceFinalizer: string
  /** In `metadata.finalizers` of custom resource definitions. */
  readonly definitionFinalizer: string
  readonly rootCaConfigMap: string
  /** The key inside that ConfigMap. */
  readonly rootCaKey: string
  /** Where pods find their token. */
  readonly serviceAccountMountPath: string
  /** The claim of service account tokens that names the account and the bound object. */
  readonly tokenClaim: string
  /** The issuer of tokens that are stored in Secrets. */
  readonly secretTokenIssuer: string
  readonly protobufMediaType: string
  /** `x-orch-` or `x-kubernetes-`. */
  readonly schemaMarkerPrefix: string
  /** Markers that existing clients look for in OpenAPI documents, in either domain. */
  readonly clientMarkerPrefix: string
  /**
   * Like `group`, for groups whose name is built into existing clients, whatever discovery returns.
   */
  readonly clientGroup: (stem: string) => string
  readonly secretTypes: {
    readonly serviceAccountToken: string
    readonly bootstrapToken: string
    readonly dockerCfg: string
    readonly dockerConfigJson: string
    readonly basicAuth: string
    readonly sshAuth: string
    readonly tls: string
  }
  readonly signers: {
    readonly apiserverClient: string
    readonly apiserverClientNodeAgent: string
    readonly nodeAgentServing: string
    readonly legacyUnknown: string
  }
  readonly auditAnnotations: {
    /** Set to `true` on calls of deprecated endpoints. */
    readonly deprecated: string
    /** The release that removes the API, such as `1.27`. */
    readonly removedRelease: string
    /** Followed by `round_<n>_index_<n>`. */
    readonly mutationWebhookPrefix: string
    readonly patchWebhookPrefix: string
    /** Set to `true` on calls whose annotations exceed a limit, so that some are not recorded. */
    readonly dropped: string
  }
  readonly rbac: {
    readonly autoupdateAnnotation: string
    readonly bootstrappingLabel: string
  }
  /**
   * The label of the leases of API servers, and its value, which is also the prefix of their names.
   */
  readonly identity: { readonly label: string; readonly component: string }
  /**
   * Whether a PUT to a missing object creates it for all kinds, not only where upstream allows it.
   */
  readonly putCreates: boolean
  /** Whether each service account has a Secret with a token without an expiry (spec 5.6). */
  readonly keepsTokenSecrets: boolean
}

/** Returns the names of a domain. */
export function namesOf(domain: ApiDomain): Names {
  return domain === 'orch.io' ? orchNames : upstreamNames
}

/** Groups without a domain. */
const PLAIN_GROUPS: ReadonlySet<string> = new Set([
  '',
  'apps',
  'batch',
  'autoscaling',
  'policy',
  'extensions',
])

function groupOf(stem: string, domain: ApiDomain): string {
  return PLAIN_GROUPS.has(stem) ? stem : `${stem}.${domain}`
}

function stemOf(group: string, domain: ApiDomain): string {
  const suffix = `.${domain}`
  return group.endsWith(suffix) ? group.slice(0, -suffix.length) : group
}

/** The Go packages of upstream's types that are not in its main API module. */
const UPSTREAM_DEFINITION_HOMES: { readonly [stem: string]: string } = {
  meta: 'io.k8s.apimachinery.pkg.apis.meta',
  runtime: 'io.k8s.apimachinery.pkg.runtime',
  resource: 'io.k8s.apimachinery.pkg.api.resource',
  intstr: 'io.k8s.apimachinery.pkg.util.intstr',
  version: 'io.k8s.apimachinery.pkg.version',
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
}

function upstreamDefinition(neutral: string): string {
  if (neutral.startsWith('io.')) return neutral
  const dot = neutral.indexOf('.')
  const stem = neutral.slice(0, dot)
  const home = Object.hasOwn(UPSTREAM_DEFINITION_HOMES, stem) ? UPSTREAM_DEFINITION_HOMES[stem] : undefined
  return `${home ?? `io.k8s.api.${stem}`}${neutral.slice(dot)}`
}

const orchNames: Names = Object.freeze({
  domain: 'orch.io',
  group: (stem: string) => groupOf(stem, 'orch.io'),
  groupStem: (group: string) => stemOf(group, 'orch.io'),
  label: (key: string) => `orch.io/${key}`,
  labelUnder: (prefix: string, key: string) => `${prefix}.orch.io/${key}`,
  definition: (neutral: string) => (neutral.startsWith('io.') ? neutral : `io.orch.api.${neutral}`),
  systemNamespace: 'system-ns',
  publicNamespace: 'public-ns',
  nodeLeaseNamespace: 'node-lease-ns',
  namespaceFinalizer: 'orch',
  definitionFinalizer: 'customresourcecleanup.apiextensions.orch.io',
  rootCaConfigMap: 'root-ca.crt',
  rootCaKey: 'root-ca.crt',
  serviceAccountMountPath: '/var/run/secrets/orch.io/serviceaccount',
  tokenClaim: 'orch.io',
  secretTokenIssuer: 'orch/serviceaccount',
  protobufMediaType: 'application/vnd.orch.protobuf',
  schemaMarkerPrefix: 'x-orch-',
  clientMarkerPrefix: 'x-kubernetes-',
  clientGroup: (stem: string) => groupOf(stem, 'k8s.io'),
  secretTypes: Object.freeze({
    serviceAccountToken: 'orch.io/service-account-token',
    bootstrapToken: 'bootstrap.orch.io/token',
    dockerCfg: 'orch.io/dockercfg',
    dockerConfigJson: 'orch.io/dockerconfigjson',
    basicAuth: 'orch.io/basic-auth',
    sshAuth: 'orch.io/ssh-auth',
    tls: 'orch.io/tls',
  }),
  signers: Object.freeze({
    apiserverClient: 'orch.io/apiserver-client',
    apiserverClientNodeAgent: 'orch.io/apiserver-client-nodeagent',
    nodeAgentServing: 'orch.io/nodeagent-serving',
    legacyUnknown: 'orch.io/legacy-unknown',
  }),
  auditAnnotations: Object.freeze({
    deprecated: 'orch.io/deprecated',
    removedRelease: 'orch.io/removed-release',
    mutationWebhookPrefix: 'mutation.webhook.admission.orch.io/',
    patchWebhookPrefix: 'patch.webhook.admission.orch.io/',
    dropped: 'audit.orch.io/annotations-dropped',
  }),
  rbac: Object.freeze({
    autoupdateAnnotation: 'rbac.authorization.orch.io/autoupdate',
    bootstrappingLabel: 'orch.io/bootstrapping',
  }),
  identity: Object.freeze({ label: 'orch.io/component', component: 'orch-apiserver' }),
  putCreates: true,
  keepsTokenSecrets: true,
})

const upstreamNames: Names = Object.freeze({
  domain: 'k8s.io',
  group: (stem: string) => groupOf(stem, 'k8s.io'),
  groupStem: (group: string) => stemOf(group, 'k8s.io'),
  label: (key: string) => `kubernetes.io/${key}`,
  labelUnder: (prefix: string, key: string) => `${prefix}.kubernetes.io/${key}`,
  definition: upstreamDefinition,
  systemNamespace: 'kube-system',
  publicNamespace: 'kube-public',
  nodeLeaseNamespace: 'kube-node-lease',
  namespaceFinalizer: 'kubernetes',
  definitionFinalizer: 'customresourcecleanup.apiextensions.k8s.io',
  rootCaConfigMap: 'kube-root-ca.crt',
  rootCaKey: 'ca.crt',
  serviceAccountMountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  tokenClaim: 'kubernetes.io',
  secretTokenIssuer: 'kubernetes/serviceaccount',
  protobufMediaType: 'application/vnd.kubernetes.protobuf',
  schemaMarkerPrefix: 'x-kubernetes-',
  clientMarkerPrefix: 'x-kubernetes-',
  clientGroup: (stem: string) => groupOf(stem, 'k8s.io'),
  secretTypes: Object.freeze({
    serviceAccountToken: 'kubernetes.io/service-account-token',
    bootstrapToken: 'bootstrap.kubernetes.io/token',
    dockerCfg: 'kubernetes.io/dockercfg',
    dockerConfigJson: 'kubernetes.io/dockerconfigjson',
    basicAuth: 'kubernetes.io/basic-auth',
    sshAuth: 'kubernetes.io/ssh-auth',
    tls: 'kubernetes.io/tls',
  }),
  signers: Object.freeze({
    apiserverClient: 'kubernetes.io/kube-apiserver-client',
    apiserverClientNodeAgent: 'kubernetes.io/kube-apiserver-client-kubelet',
    nodeAgentServing: 'kubernetes.io/kubelet-serving',
    legacyUnknown: 'kubernetes.io/legacy-unknown',
  }),
  auditAnnotations: Object.freeze({
    deprecated: 'k8s.io/deprecated',
    removedRelease: 'k8s.io/removed-release',
    mutationWebhookPrefix: 'mutation.webhook.admission.k8s.io/',
    patchWebhookPrefix: 'patch.webhook.admission.k8s.io/',
    dropped: 'audit.k8s.io/annotations-dropped',
  }),
  rbac: Object.freeze({
    autoupdateAnnotation: 'rbac.authorization.kubernetes.io/autoupdate',
    bootstrappingLabel: 'kubernetes.io/bootstrapping',
  }),
  identity: Object.freeze({ label: 'k8s.io/component', component: 'kube-apiserver' }),
  putCreates: false,
  keepsTokenSecrets: false,
})
