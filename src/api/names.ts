/** Whose names the cluster speaks; fixed when it is created. */
export type ApiDomain = 'orch.io' | 'k8s.io'

/** Every name that carries the maker's domain, and the few behaviours that differ between domains. */
export type Names = {
  readonly domain: ApiDomain
  /** `storage` gives `storage.orch.io` or `storage.k8s.io`. */
  readonly group: (stem: string) => string
  /** `service-account.name` gives `orch.io/service-account.name` or `kubernetes.io/service-account.name`. */
  readonly label: (key: string) => string
  readonly systemNamespace: string
  readonly publicNamespace: string
  readonly nodeLeaseNamespace: string
  /** In `spec.finalizers` of namespaces; also the Service of the default namespace. */
  readonly namespaceFinalizer: string
  readonly rootCaConfigMap: string
  readonly protobufMediaType: string
  /** `x-orch-` or `x-kubernetes-`. */
  readonly schemaMarkerPrefix: string
  readonly secretTypes: {
    readonly serviceAccountToken: string
    readonly bootstrapToken: string
    readonly dockerCfg: string
    readonly dockerConfigJson: string
    readonly basicAuth: string
    readonly sshAuth: string
    readonly tls: string
  }
  /** A PUT to a missing object creates it, for all kinds and not only those that upstream allows. */
  readonly putCreates: boolean
}
