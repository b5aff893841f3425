"""IC-LKE: latent knowledge by in-context examples (Wu et al., Towards Reliable Latent Knowledge Estimation in LLMs)."""
